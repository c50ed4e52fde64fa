// Owners of what the CUDA driver gives, and its errors as values.
//
// Ownership: move-only; destructors release and ignore errors, because after a sticky error every
//            call fails. Whoever owns memory that copies use waits for its streams first.
// Errors:    "copy of batch 3: unspecified launch failure (CUDA_ERROR_LAUNCH_FAILED)"; what no
//            memory is left for and which setting to reduce (gpu_words.h). After an error that is
//            not known to pass the GPU is asked whether it is still there. The first one after
//            which it is not says that the context is lost and what to do, and cuda_context_lost()
//            is true from then on.
// Threads:   a thread calls use_device() before anything else here, destructors included.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

#include "base/result.h"
#include "stage/cuda/driver_cuda.h"

namespace blksweep {

// "invalid argument (CUDA_ERROR_INVALID_VALUE)".
std::string cuda_words(CUresult err);
Result<> cuda_result(CUresult err, const std::string& what);
// Refuses with Exit::unsupported and the cause when there is no such GPU, or none at all; then
// makes its context and loads the kernels. Both stay until the process ends.
Result<> open_device(std::uint32_t device);
// REQUIRES: open_device() of it.
Result<> use_device(std::uint32_t device);

struct Kernels {
  CUfunction spin, memory_pressure, gemm, hash;
};
// Of the device that this thread uses.
const Kernels& kernels_here();

struct CudaDestroy {
  void operator()(CUstream s) const { cuda_driver().stream_destroy(s); }
  void operator()(CUevent e) const { cuda_driver().event_destroy(e); }
};
struct CudaFree {
  void operator()(void* p) const { cuda_driver().memory_free(on_gpu(p)); }
};
struct CudaFreeHost {
  void operator()(void* p) const { cuda_driver().host_free(p); }
};

using Stream = std::unique_ptr<std::remove_pointer_t<CUstream>, CudaDestroy>;
using Event = std::unique_ptr<std::remove_pointer_t<CUevent>, CudaDestroy>;
template <class T>
using DeviceMemory = std::unique_ptr<T, CudaFree>;
using PinnedMemory = std::unique_ptr<void, CudaFreeHost>;

// Does not wait for the legacy default stream, nor that for it.
Result<Stream> make_stream();
// `blocking`: a thread that waits for it sleeps; else it is only asked whether it has passed.
Result<Event> make_event(bool blocking);

// What memory is for and how to need less of it: "use a smaller --batch".
struct MemoryUse {
  std::string purpose, way_out;
};
Result<void*> device_bytes(std::size_t bytes, const MemoryUse& use);
template <class T>
Result<DeviceMemory<T>> device_memory(std::size_t count, const MemoryUse& use) {
  BLKSWEEP_TRY(void* const raw, device_bytes(count * sizeof(T), use));
  return DeviceMemory<T>(static_cast<T*>(raw));
}
Result<PinnedMemory> pinned_memory(std::size_t bytes);
// Pins memory of the host's, which the GPU then reads by the host's addresses; refused where it
// cannot. The caller unregisters it.
Result<> register_host(void* begin, std::size_t bytes);

}  // namespace blksweep
