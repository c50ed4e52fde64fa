// cudaMemcpyBatchAsync, whose signature depends on the toolkit: none before CUDA 12.8, one with the
// index of the failed copy in 12.8 and 12.9, one without it from 13.0 on. The only place that
// knows.
//
// Errors: cudaErrorNotSupported where the toolkit has none; cudaErrorCallRequiresNewerDriver from
//         the runtime where the driver has none.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace blksweep {

struct BatchCopy {
  void* const* to;
  const void* const* from;
  const std::size_t* bytes;
  std::size_t count;
};

#if CUDART_VERSION >= 12080
// The sources stay until the stream has passed, and no earlier work of it touches them; copy
// engines rather than multiprocessors should carry them.
inline cudaMemcpyAttributes batch_copy_attributes() {
  cudaMemcpyAttributes attributes{};
  attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  attributes.flags = cudaMemcpyFlagPreferOverlapWithCompute;
  return attributes;
}
#endif

inline cudaError_t batch_copy([[maybe_unused]] const BatchCopy& copy,
                              [[maybe_unused]] cudaStream_t stream) {
#if CUDART_VERSION >= 13000
  cudaMemcpyAttributes attributes = batch_copy_attributes();
  std::size_t first = 0;  // copy that the attributes are for
  return cudaMemcpyBatchAsync(copy.to, copy.from, copy.bytes, copy.count, &attributes, &first, 1,
                              stream);
#elif CUDART_VERSION >= 12080
  cudaMemcpyAttributes attributes = batch_copy_attributes();
  std::size_t first = 0;
  std::size_t failed = 0;
  return cudaMemcpyBatchAsync(const_cast<void**>(copy.to), const_cast<void**>(copy.from),
                              const_cast<std::size_t*>(copy.bytes), copy.count, &attributes, &first,
                              1, &failed, stream);
#else
  return cudaErrorNotSupported;
#endif
}

}  // namespace blksweep
