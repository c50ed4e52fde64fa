#include "standin/kernels.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "stage/cuda/kernels_cuda.h"
#include "stage/part_hash.h"

namespace standin {
namespace {

constexpr double kFlopsPerNs = 10'000;
constexpr Ns kShortestProduct = 4'000;

template <class T>
T parameter(void** parameters, std::size_t index) {
  T value;
  std::memcpy(&value, parameters[index], sizeof value);
  return value;
}

Operation kernel(Gpu& gpu, Ns takes) {
  Operation op;
  op.what = "kernel";
  op.kind = Operation::Kind::kernel;
  op.takes = takes + gpu.settings.ns("kernel_overhead");
  return op;
}

// Of its own clock, which may gain.
Ns spun(const Gpu& gpu, std::uint64_t ns) {
  return static_cast<Ns>(static_cast<double>(ns) / (1 + gpu.settings["drift"]));
}

// What a kernel does that leaves its memory.
void fails(Operation& op) {
  op.effect = [] { Gpu::get().dead = CUDA_ERROR_ILLEGAL_ADDRESS; };
}

// Notes a use of memory; nullptr: it is nobody's.
template <class T>
T* use(Gpu& gpu, Operation& op, const T* at, std::size_t count, bool writes) {
  const Range range = range_of(at, count * sizeof(T));
  op.touches.push_back({range, writes});
  return reinterpret_cast<T*>(gpu.memory.bytes_of(range));
}

Operation spin(Gpu& gpu, const Shape& s, void** p) {
  if (s.gx == 0 || s.tx != 1) {
    gpu.complain("blksweep_spin with another shape than a thread a block");
  }
  return kernel(gpu, spun(gpu, parameter<std::uint64_t>(p, 0)));
}

Operation memory_pressure(Gpu& gpu, const Shape& s, void** p) {
  constexpr std::size_t kVector = 16;
  if (s.gx == 0 || s.gy != 1 || s.tx == 0) {
    gpu.complain("blksweep_memory_pressure with a shape of nothing");
  }
  Operation op = kernel(gpu, spun(gpu, parameter<std::uint64_t>(p, 2)));
  const auto* const memory = parameter<const std::byte*>(p, 0);
  if (use(gpu, op, memory, parameter<std::size_t>(p, 1) * kVector, true) == nullptr) {
    fails(op);
  }
  return op;
}

// Takes the time of the product; does not make it.
Operation gemm(Gpu& gpu, const Shape& s, void** p) {
  const auto g = parameter<blksweep::Gemm>(p, 0);
  const std::size_t one = std::size_t{g.n} * g.n;
  const double flops = 2.0 * static_cast<double>(one) * g.n;
  if (s.gx * s.tx != g.n || s.gy * s.ty != g.n || s.tx != blksweep::kGemmTile) {
    gpu.complain("blksweep_gemm with a shape that is not that of its matrices");
  }
  Operation op = kernel(gpu, kShortestProduct + static_cast<Ns>(flops / kFlopsPerNs));
  const bool there = use(gpu, op, g.a, one, false) != nullptr &&
                     use(gpu, op, g.b, one, false) != nullptr &&
                     use(gpu, op, g.c, one, true) != nullptr;
  if (!there) {
    fails(op);
  }
  return op;
}

Operation hash(Gpu& gpu, const Shape& s, void** p) {
  const auto h = parameter<blksweep::PartsToHash>(p, 0);
  if (s.gx != h.parts || s.tx != blksweep::kHashThreads) {
    gpu.complain("blksweep_hash with a shape that is not a block a part");
  }
  Operation op = kernel(gpu, 0);
  const std::uint64_t* const begin = use(gpu, op, h.begin, h.parts + std::size_t{1}, false);
  std::uint64_t* const out = use(gpu, op, h.out, h.parts, true);
  if (begin == nullptr || out == nullptr) {
    fails(op);
    return op;
  }
  // What to read is known when it runs.
  op.effect = [&gpu, h, begin, out] {
    for (unsigned i = 0; i < h.parts; ++i) {
      const unsigned char* bytes = nullptr;
      {
        const std::lock_guard lock(gpu.mutex);
        bytes = reinterpret_cast<const unsigned char*>(
            gpu.memory.bytes_of(range_of(h.data + begin[i], begin[i + 1] - begin[i])));
      }
      if (bytes == nullptr) {
        gpu.dead = CUDA_ERROR_ILLEGAL_ADDRESS;
        return;
      }
      out[i] = blksweep::part_hash(bytes, begin[i + 1] - begin[i]);
    }
  };
  return op;
}

constexpr std::array kKernels{HostKernel{"blksweep_spin", spin},
                              HostKernel{"blksweep_memory_pressure", memory_pressure},
                              HostKernel{"blksweep_gemm", gemm}, HostKernel{"blksweep_hash", hash}};

}  // namespace

const HostKernel* find_kernel(const char* name) {
  const auto* const known =
      std::find_if(kKernels.begin(), kKernels.end(),
                   [&](const HostKernel& k) { return std::strcmp(k.name, name) == 0; });
  return known == kKernels.end() ? nullptr : known;
}

std::pair<const char*, const char*> error_words(CUresult err) {
  switch (static_cast<int>(err)) {
    case 1:
      return {"CUDA_ERROR_INVALID_VALUE", "invalid argument"};
    case 2:
      return {"CUDA_ERROR_OUT_OF_MEMORY", "out of memory"};
    case 46:
      return {"CUDA_ERROR_DEVICE_UNAVAILABLE", "CUDA-capable device(s) is/are busy or unavailable"};
    case 100:
      return {"CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"};
    case 101:
      return {"CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"};
    case 201:
      return {"CUDA_ERROR_INVALID_CONTEXT", "invalid device context"};
    case 218:
      return {"CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"};
    case 222:
      return {"CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
              "the provided PTX was compiled with an unsupported toolchain."};
    case 400:
      return {"CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"};
    case 500:
      return {"CUDA_ERROR_NOT_FOUND", "named symbol not found"};
    case 700:
      return {"CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"};
    case 712:
      return {"CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
              "part or all of the requested memory range is already mapped"};
    case 713:
      return {"CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
              "pointer does not correspond to a registered memory region"};
    case 719:
      return {"CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"};
    case 801:
      return {"CUDA_ERROR_NOT_SUPPORTED", "operation not supported"};
    case 999:
      return {"CUDA_ERROR_UNKNOWN", "unknown error"};
    default:
      return {nullptr, nullptr};
  }
}

}  // namespace standin
