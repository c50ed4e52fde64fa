// Owners of what the CUDA runtime gives, and its errors as values.
//
// Ownership: move-only; destructors release and ignore errors, because after a sticky error every
//            call fails. Whoever owns memory that copies use waits for its streams first.
// Errors:    "copy of batch 3: unspecified launch failure (cudaErrorLaunchFailure)"; what no memory
//            is left for and which setting to reduce (gpu_words.h). Each is taken from the
//            runtime's last error, so that no later launch is blamed for it. After a sticky one the
//            text says that the context is lost, and cuda_context_lost() is true from then on.
// Threads:   a thread calls use_device() before anything else here.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

#include "base/result.h"

namespace blksweep {

// Whether every later call of this process fails as well.
bool sticky(cudaError_t err);
Result<> cuda_result(cudaError_t err, const std::string& what);
// Refuses with Exit::unsupported and the cause when there is no such GPU, or none at all.
Result<> open_device(std::uint32_t device);
Result<> use_device(std::uint32_t device);

struct CudaDestroy {
  void operator()(cudaStream_t s) const { cudaStreamDestroy(s); }
  void operator()(cudaEvent_t e) const { cudaEventDestroy(e); }
};
struct CudaFree {
  void operator()(void* p) const { cudaFree(p); }
};
struct CudaFreeHost {
  void operator()(void* p) const { cudaFreeHost(p); }
};

using Stream = std::unique_ptr<std::remove_pointer_t<cudaStream_t>, CudaDestroy>;
using Event = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, CudaDestroy>;
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
// Pins memory of the host's; the caller unregisters it.
Result<> register_host(void* begin, std::size_t bytes);

}  // namespace blksweep
