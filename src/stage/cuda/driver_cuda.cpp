#include "stage/cuda/driver_cuda.h"

#include <dlfcn.h>

#include <type_traits>

namespace blksweep {
namespace {

CudaDriver look_up() {
  CudaDriver d;
  void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  d.found = library != nullptr;
  if (!d.found) {
    return d;
  }
  std::string lacks;
  const auto find = [&](auto& function, const char* symbol) {
    void* const found = ::dlsym(library, symbol);
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(found);
    return found != nullptr;
  };
#define BLKSWEEP_CUDA_FIND(member, call, version, ...)                \
  static_assert(std::is_same_v<decltype(d.member), decltype(&call)>); \
  if (!find(d.member, #call version)) {                               \
    lacks += std::string(lacks.empty() ? "" : ", ") + #call version;  \
  }
  BLKSWEEP_CUDA_CALLS(BLKSWEEP_CUDA_FIND)
#undef BLKSWEEP_CUDA_FIND
  find(d.copy_batch, "cuMemcpyBatchAsync");
  find(d.device_uuid, "cuDeviceGetUuid_v2");
  d.refusal = lacks.empty() ? "" : "libcuda.so.1 lacks " + lacks;
  return d;
}

}  // namespace

const CudaDriver& cuda_driver() {
  static const CudaDriver driver = look_up();
  return driver;
}

}  // namespace blksweep
