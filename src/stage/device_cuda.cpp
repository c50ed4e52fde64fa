#include "stage/device_cuda.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/units.h"
#include "stage/cuda_stage.h"

namespace blksweep {
namespace {

std::string version_word(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::string driver_version() {
  int version = 0;  // stays 0 without a driver
  return cudaDriverGetVersion(&version) == cudaSuccess && version > 0 ? version_word(version) : "";
}

// cudaErrorInsufficientDriver is also what the runtime says when there is no driver.
std::string refusal_of(cudaError_t err, int devices) {
  const std::string driver = driver_version();
  if (driver.empty()) {
    return "no NVIDIA driver (libcuda.so.1) on this node";
  }
  if (err == cudaErrorInsufficientDriver) {
    return fmt::format("the driver is for CUDA {}, this program needs {}", driver, cuda_runtime());
  }
  if (err == cudaErrorNoDevice || (err == cudaSuccess && devices == 0)) {
    return "the driver finds no GPU";
  }
  return err == cudaSuccess ? "" : cudaGetErrorString(err);
}

}  // namespace

Result<> cuda_result(cudaError_t err, const std::string& what) {
  if (err == cudaSuccess) {
    return {};
  }
  return fail(fmt::format("{}: {} ({})", what, cudaGetErrorString(err), cudaGetErrorName(err)));
}

std::string cuda_runtime() { return version_word(CUDART_VERSION); }

std::string cuda_pci_address(std::uint32_t device) {
  std::array<char, 32> text{};
  const auto size = static_cast<int>(text.size());
  return cudaDeviceGetPCIBusId(text.data(), size, static_cast<int>(device)) == cudaSuccess
             ? text.data()
             : "";
}

CudaFacts cuda_facts() {
  CudaFacts facts;
  facts.driver = driver_version();
  int devices = 0;
  const cudaError_t err = cudaGetDeviceCount(&devices);
  facts.refusal = refusal_of(err, devices);
  for (int i = 0; facts.refusal.empty() && i < devices; ++i) {
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, i) == cudaSuccess) {
      facts.devices.emplace_back(static_cast<const char*>(properties.name));
    }
  }
  return facts;
}

Result<> check_cuda(std::uint32_t device) {
  int devices = 0;
  const cudaError_t err = cudaGetDeviceCount(&devices);
  if (const std::string why = refusal_of(err, devices); !why.empty()) {
    return unsupported(
        fmt::format("no GPU can be used: {}; use --copy emulated and --consumer "
                    "emulated",
                    why));
  }
  if (device >= static_cast<std::uint32_t>(devices)) {
    return unsupported(fmt::format("--device-index {}: this node has {} GPU{}, the first is 0",
                                   device, devices, devices == 1 ? "" : "s"));
  }
  return {};
}

Result<> open_device(std::uint32_t device) {
  BLKSWEEP_CHECK(check_cuda(device));
  BLKSWEEP_CHECK(use_device(device));
  // The context is made here, not in the measured epoch.
  return cuda_result(cudaFree(nullptr), fmt::format("context on GPU {}", device));
}

bool cuda_context_lost() { return cudaDeviceSynchronize() != cudaSuccess; }

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

Result<void*> device_bytes(std::size_t bytes) {
  void* raw = nullptr;
  const cudaError_t err = cudaMalloc(&raw, std::max<std::size_t>(1, bytes));
  if (err == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // not sticky
    return fail(fmt::format("the GPU has no {} left: use a smaller --batch or --device-slots",
                            format_bytes({bytes})));
  }
  BLKSWEEP_CHECK(cuda_result(err, fmt::format("cudaMalloc of {}", format_bytes({bytes}))));
  return raw;
}

Result<PinnedMemory> pinned_memory(std::size_t bytes) {
  void* raw = nullptr;
  BLKSWEEP_CHECK(
      cuda_result(cudaHostAlloc(&raw, std::max<std::size_t>(1, bytes), cudaHostAllocDefault),
                  fmt::format("cudaHostAlloc of {} of pinned memory", format_bytes({bytes}))));
  return PinnedMemory(raw);
}

}  // namespace blksweep
