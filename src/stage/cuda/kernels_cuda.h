// The kernels, behind functions that any C++ compiler can call. They start work on `stream` and
// return at once; an error is that of this launch, not what an earlier call left behind.
//
// They are carried as PTX, which each GPU's driver compiles when the device is opened.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>

namespace blksweep {

inline constexpr unsigned kHashThreads = 256;

// Keeps every multiprocessor busy for `ns` of the GPU's own clock.
CUresult launch_spin(std::uint64_t ns, unsigned blocks, CUstream stream);
// The same, reading and writing `bytes` (a multiple of 16) of `memory` over and over.
CUresult launch_memory_pressure(void* memory, std::size_t bytes, std::uint64_t ns, unsigned blocks,
                                CUstream stream);

inline constexpr unsigned kGemmTile = 32;
// c = a * b of n x n floats, n a multiple of kGemmTile.
struct Gemm {
  const float* a;
  const float* b;
  float* c;
  unsigned n;
};
CUresult launch_gemm(const Gemm& gemm, CUstream stream);

// out[i] = part_hash of part i, which begins at begin[i] of `data` and ends before begin[i + 1].
struct PartsToHash {
  const unsigned char* data;
  const std::uint64_t* begin;
  unsigned parts;
  std::uint64_t* out;
};
CUresult launch_hash(const PartsToHash& parts, CUstream stream);

}  // namespace blksweep
