#include "stage/cuda/gpu_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace blksweep {
namespace {

constexpr int kNoDevice = 100;  // CUDA_ERROR_NO_DEVICE

// CUDA_ERROR_ECC_UNCORRECTABLE, NVLINK_UNCORRECTABLE, CONTAINED; ILLEGAL_ADDRESS, LAUNCH_TIMEOUT,
// CONTEXT_IS_DESTROYED, ASSERT, HARDWARE_STACK_ERROR, ILLEGAL_INSTRUCTION, MISALIGNED_ADDRESS,
// INVALID_ADDRESS_SPACE, INVALID_PC, LAUNCH_FAILED, TENSOR_MEMORY_LEAK; MPS_CLIENT_TERMINATED;
// EXTERNAL_DEVICE.
constexpr std::array kSticky{214, 220, 226, 700, 702, 709, 710, 714,
                             715, 716, 717, 718, 719, 721, 810, 911};
// INVALID_VALUE, OUT_OF_MEMORY, NOT_INITIALIZED; NO_DEVICE, INVALID_DEVICE; INVALID_CONTEXT;
// INVALID_PTX, UNSUPPORTED_PTX_VERSION; INVALID_HANDLE; NOT_FOUND; NOT_READY;
// LAUNCH_OUT_OF_RESOURCES; HOST_MEMORY_ALREADY_REGISTERED, HOST_MEMORY_NOT_REGISTERED;
// NOT_PERMITTED, NOT_SUPPORTED.
constexpr std::array kPassing{1,   2,   3,   100, 101, 201, 218, 222,
                              400, 500, 600, 701, 712, 713, 800, 801};

constexpr int major_of(int version) { return version / 1000; }

}  // namespace

std::string cuda_version_words(int version) {
  return version > 0 ? fmt::format("{}.{}", major_of(version), version % 1000 / 10) : "";
}

std::string gpu_refusal(const GpuNode& n) {
  if (n.driver <= 0) {
    return "no NVIDIA driver (libcuda.so.1) on this node";
  }
  if (n.driver < kLeastDriver) {
    return fmt::format("the driver is for CUDA {}, this program needs one for CUDA {} or later",
                       cuda_version_words(n.driver), cuda_version_words(kLeastDriver));
  }
  if (n.error == kNoDevice || (n.error_words.empty() && n.devices <= 0)) {
    return "the driver finds no GPU (in a container: --gpus all; CUDA_VISIBLE_DEVICES hides some)";
  }
  return n.error_words;
}

std::string gpu_index_refusal(const GpuNode& n, std::uint32_t index) {
  const auto devices = static_cast<std::uint32_t>(std::max(0, n.devices));
  return index < devices ? ""
                         : fmt::format("--device-index {}: this node has {} GPU{}, the first is 0",
                                       index, devices, devices == 1 ? "" : "s");
}

std::string gpu_capability_refusal(std::uint32_t index, const std::string& name, int capability) {
  constexpr auto words = [](int c) { return fmt::format("{}.{}", c / 10, c % 10); };
  return capability >= kLeastCapability
             ? ""
             : fmt::format(
                   "--device-index {}: {} is of compute capability {}, this program needs "
                   "{} (Volta) or later",
                   index, name, words(capability), words(kLeastCapability));
}

std::string gpu_uuid(const std::string& of_cuda, const std::string& of_gpu) {
  if (of_cuda.empty() || of_gpu == "GPU-" + of_cuda) {
    return of_gpu;
  }
  return of_gpu.empty() ? of_cuda : "MIG-" + of_cuda;
}

GpuError gpu_error(int error) {
  if (std::ranges::find(kSticky, error) != kSticky.end()) {
    return GpuError::sticky;
  }
  return std::ranges::find(kPassing, error) != kPassing.end() ? GpuError::passing
                                                              : GpuError::unknown;
}

std::string gpu_memory_refusal(const GpuMemoryRequest& r) {
  const std::string left = r.all_bytes == 0
                               ? ""
                               : fmt::format(" ({} of {} are free)", format_bytes({r.free_bytes}),
                                             format_bytes({r.all_bytes}));
  return fmt::format("the GPU has no {} left for {}{}: {}", format_bytes({r.bytes}), r.purpose,
                     left, r.way_out);
}

}  // namespace blksweep
