#include "stage/cuda/device_cuda.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>

#include "base/units.h"
#include "stage/cuda/cuda_stage.h"
#include "stage/cuda/gpu_words.h"

namespace blksweep {
namespace {

// The driver's work queues: with the default of 8 the clock's stream may share one with a kernel's
// and wait behind it. Read when the context is made (CUDA C++ Programming Guide, environment).
constexpr const char* kQueues = "CUDA_DEVICE_MAX_CONNECTIONS";
constexpr const char* kLost =
    "; this process's GPU context is lost: only a new process can use the GPU again";

std::atomic<bool> context_lost{false};

GpuNode ask_node() {
  GpuNode n;
  n.runtime = CUDART_VERSION;
  if (cudaDriverGetVersion(&n.driver) != cudaSuccess) {
    n.driver = 0;
  }
  const cudaError_t err = cudaGetDeviceCount(&n.devices);
  n.error = static_cast<int>(err);
  n.error_words = cudaGetErrorString(err);
  cudaGetLastError();
  return n;
}

}  // namespace

bool sticky(cudaError_t err) { return sticky_cuda_error(static_cast<int>(err)); }
bool cuda_context_lost() { return context_lost.load(); }

Result<> cuda_result(cudaError_t err, const std::string& what) {
  if (err == cudaSuccess) {
    return {};
  }
  if (sticky(err)) {
    context_lost.store(true);
  } else {
    cudaGetLastError();  // it is said here, and not once more by the next launch
  }
  return fail(fmt::format("{}: {} ({}){}", what, cudaGetErrorString(err), cudaGetErrorName(err),
                          sticky(err) ? kLost : ""));
}

std::string cuda_runtime() { return cuda_version_words(CUDART_VERSION); }

std::string cuda_pci_address(std::uint32_t device) {
  std::array<char, 32> text{};
  const auto size = static_cast<int>(text.size());
  if (cudaDeviceGetPCIBusId(text.data(), size, static_cast<int>(device)) != cudaSuccess) {
    cudaGetLastError();
    return "";
  }
  return text.data();
}

CudaFacts cuda_facts() {
  const GpuNode node = ask_node();
  CudaFacts facts;
  facts.driver = cuda_version_words(node.driver);
  facts.refusal = gpu_refusal(node);
  for (int i = 0; facts.refusal.empty() && i < node.devices; ++i) {
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, i) == cudaSuccess) {
      facts.devices.push_back({properties.name, {properties.totalGlobalMem}});
    }
    cudaGetLastError();
  }
  return facts;
}

Result<> check_cuda(std::uint32_t device) {
  if (cuda_context_lost()) {
    return fail("an earlier error of a kernel or a copy ended this process's use of the GPU" +
                std::string(kLost));
  }
  ::setenv(kQueues, "32", 0);
  const GpuNode node = ask_node();
  if (const std::string why = gpu_refusal(node); !why.empty()) {
    return unsupported(
        fmt::format("no GPU can be used: {}; use --copy emulated and --consumer "
                    "emulated",
                    why));
  }
  if (const std::string why = gpu_index_refusal(node, device); !why.empty()) {
    return unsupported(why);
  }
  return {};
}

Result<> open_device(std::uint32_t device) {
  BLKSWEEP_CHECK(check_cuda(device));
  BLKSWEEP_CHECK(use_device(device));
  // The context is made here, not in the measured epoch.
  return cuda_result(cudaFree(nullptr), fmt::format("context on GPU {}", device));
}

Result<> use_device(std::uint32_t device) {
  return cuda_result(cudaSetDevice(static_cast<int>(device)),
                     fmt::format("cudaSetDevice {}", device));
}

Result<Stream> make_stream() {
  cudaStream_t raw = nullptr;
  BLKSWEEP_CHECK(
      cuda_result(cudaStreamCreateWithFlags(&raw, cudaStreamNonBlocking), "cudaStreamCreate"));
  return Stream(raw);
}

Result<Event> make_event(bool blocking) {
  cudaEvent_t raw = nullptr;
  const unsigned flags = blocking ? cudaEventBlockingSync : cudaEventDefault;
  BLKSWEEP_CHECK(cuda_result(cudaEventCreateWithFlags(&raw, flags), "cudaEventCreate"));
  return Event(raw);
}

Result<void*> device_bytes(std::size_t bytes, const MemoryUse& use) {
  void* raw = nullptr;
  const cudaError_t err = cudaMalloc(&raw, std::max<std::size_t>(1, bytes));
  if (err == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // not sticky
    GpuMemoryRequest request{bytes, 0, 0, use.purpose, use.way_out};
    std::size_t free_bytes = 0;
    std::size_t all_bytes = 0;
    if (cudaMemGetInfo(&free_bytes, &all_bytes) == cudaSuccess) {
      request.free_bytes = free_bytes;
      request.all_bytes = all_bytes;
    }
    return fail(gpu_memory_refusal(request));
  }
  BLKSWEEP_CHECK(cuda_result(err, fmt::format("cudaMalloc of {}", format_bytes({bytes}))));
  return raw;
}

Result<PinnedMemory> pinned_memory(std::size_t bytes) {
  void* raw = nullptr;
  const cudaError_t err =
      cudaHostAlloc(&raw, std::max<std::size_t>(1, bytes), cudaHostAllocDefault);
  const std::string what =
      fmt::format("cudaHostAlloc of {} (use --staging pinned or pageable, or a smaller --batch)",
                  format_bytes({bytes}));
  BLKSWEEP_CHECK(cuda_result(err, what));
  return PinnedMemory(raw);
}

Result<> register_host(void* begin, std::size_t bytes) {
  const cudaError_t err = cudaHostRegister(begin, bytes, cudaHostRegisterDefault);
  return cuda_result(
      err, fmt::format("cudaHostRegister of {} (use a smaller --window, or --staging pageable)",
                       format_bytes({bytes})));
}

}  // namespace blksweep
