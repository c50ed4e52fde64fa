#include "stage/cuda/kernels_cuda.h"

#include "stage/cuda/device_cuda.h"

namespace blksweep {
namespace {

constexpr unsigned kPressureThreads = 256;

struct Shape {
  unsigned blocks_x, blocks_y, threads_x, threads_y;
};

// `parameters`: the addresses of the kernel's own, in their order.
template <class... P>
CUresult launch(CUfunction kernel, const Shape& s, CUstream stream, P... parameters) {
  void* list[] = {&parameters...};
  return cuda_driver().launch(kernel, s.blocks_x, s.blocks_y, 1, s.threads_x, s.threads_y, 1, 0,
                              stream, list, nullptr);
}

}  // namespace

CUresult launch_spin(std::uint64_t ns, unsigned blocks, CUstream stream) {
  return launch(kernels_here().spin, {blocks, 1, 1, 1}, stream, ns);
}

CUresult launch_memory_pressure(void* memory, std::size_t bytes, std::uint64_t ns, unsigned blocks,
                                CUstream stream) {
  const std::size_t vectors = bytes / 16;
  return launch(kernels_here().memory_pressure, {blocks, 1, kPressureThreads, 1}, stream, memory,
                vectors, ns);
}

CUresult launch_gemm(const Gemm& g, CUstream stream) {
  const unsigned tiles = g.n / kGemmTile;
  return launch(kernels_here().gemm, {tiles, tiles, kGemmTile, kGemmTile}, stream, g);
}

CUresult launch_hash(const PartsToHash& p, CUstream stream) {
  return launch(kernels_here().hash, {p.parts, 1, kHashThreads, 1}, stream, p);
}

}  // namespace blksweep
