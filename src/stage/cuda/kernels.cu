// Found by name in the PTX that nvcc makes of this; launched by kernels_cuda.cpp.
#include "stage/cuda/kernels_cuda.h"
#include "stage/part_hash.h"

namespace blksweep {
namespace {

constexpr unsigned kLoadsPerLook = 32;  // at the clock

// The GPU's wall clock in ns, whatever the multiprocessors' clock rate is just now (PTX ISA,
// %globaltimer; it advances in steps of up to 1 us).
__device__ std::uint64_t wall_ns() {
  std::uint64_t ns = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}

}  // namespace

extern "C" {

__global__ void blksweep_spin(std::uint64_t ns) {
  const std::uint64_t begin = wall_ns();
  while (wall_ns() - begin < ns) {
  }
}

__global__ void blksweep_memory_pressure(uint4* memory, std::size_t count, std::uint64_t ns) {
  const std::uint64_t begin = wall_ns();
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  std::size_t at = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  do {
    for (unsigned i = 0; i < kLoadsPerLook; ++i) {
      at = at < count ? at : at % count;
      uint4 v = memory[at];
      v.x += 1;
      memory[at] = v;
      at += step;
    }
  } while (wall_ns() - begin < ns);
}

// One block makes one tile of c, a tile of a and of b at a time.
__global__ void blksweep_gemm(Gemm g) {
  __shared__ float a[kGemmTile][kGemmTile];
  __shared__ float b[kGemmTile][kGemmTile];
  const std::size_t row = std::size_t{blockIdx.y} * kGemmTile + threadIdx.y;
  const std::size_t column = std::size_t{blockIdx.x} * kGemmTile + threadIdx.x;
  float sum = 0;
  for (unsigned k = 0; k < g.n; k += kGemmTile) {
    a[threadIdx.y][threadIdx.x] = g.a[row * g.n + k + threadIdx.x];
    b[threadIdx.y][threadIdx.x] = g.b[(std::size_t{k} + threadIdx.y) * g.n + column];
    __syncthreads();
    for (unsigned i = 0; i < kGemmTile; ++i) {
      sum += a[threadIdx.y][i] * b[i][threadIdx.x];
    }
    __syncthreads();
  }
  g.c[row * g.n + column] = sum;
}

// One block hashes one part.
__global__ void blksweep_hash(PartsToHash p) {
  __shared__ std::uint64_t sums[kHashThreads];
  const std::uint64_t begin = p.begin[blockIdx.x];
  const std::uint64_t bytes = p.begin[blockIdx.x + 1] - begin;
  sums[threadIdx.x] = part_sum(p.data + begin, bytes, threadIdx.x, blockDim.x);
  __syncthreads();
  if (threadIdx.x == 0) {
    std::uint64_t sum = part_hash_end(bytes);
    for (unsigned i = 0; i < kHashThreads; ++i) {
      sum += sums[i];
    }
    p.out[blockIdx.x] = sum;
  }
}

}  // extern "C"
}  // namespace blksweep
