// What every call of the driver begins with, and their declarations as src/stage/cuda/driver_cuda.h
// lists them: what that looks up and the stand-in does not define does not link.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>

#include "stage/cuda/driver_cuda.h"
#include "standin/gpu.h"

#define STANDIN_DECLARE(member, call, version, ...) \
  extern "C" CUresult standin_##member(__VA_ARGS__) __asm__(#call version);
BLKSWEEP_CUDA_CALLS(STANDIN_DECLARE)
#undef STANDIN_DECLARE
extern "C" CUresult standin_copy_batch(void* const*, const void* const*, const std::size_t*,
                                       std::size_t, void*, std::size_t*, std::size_t, std::size_t*,
                                       CUstream) __asm__("cuMemcpyBatchAsync");
extern "C" CUresult standin_device_uuid(CUuuid*, CUdevice) __asm__("cuDeviceGetUuid_v2");

namespace standin {

inline thread_local bool context_is_current = false;

enum class Needs { nothing, context };

// Of every call: the mutex, failures on demand, a context that is there and not lost. What it
// issues counts from its begin: a driver does not copy and compare sources.
struct Call {
  const Ns begin = now();
  Gpu& gpu = Gpu::get();
  std::unique_lock<std::mutex> lock{gpu.mutex};
  CUresult refused = CUDA_SUCCESS;

  explicit Call(const char* name, Needs needs = Needs::context) {
    if (const Failure* const f = gpu.settings.use(name); f != nullptr) {
      refused = static_cast<CUresult>(f->error);
      gpu.dead = f->sticky ? f->error : gpu.dead.load();
      gpu.ended.notify_all();
    } else if (gpu.dead != 0 && needs == Needs::context) {
      refused = static_cast<CUresult>(gpu.dead.load());
    } else if (needs == Needs::context && !context_is_current) {
      gpu.complain(std::string(name) + " on a thread that uses no device");
      refused = CUDA_ERROR_INVALID_CONTEXT;
    }
  }
  explicit operator bool() const { return refused != CUDA_SUCCESS; }

  // Of something that the caller made a mistake with and a driver may not notice.
  CUresult wrong(const std::string& what, CUresult result = CUDA_ERROR_INVALID_VALUE) {
    gpu.complain(what);
    return result;
  }
};

}  // namespace standin
