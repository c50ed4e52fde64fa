#include "stage/cuda/gpu_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace blksweep {
namespace {

constexpr int kInsufficientDriver = 35;  // cudaErrorInsufficientDriver; also without any driver
constexpr int kNoDevice = 100;           // cudaErrorNoDevice

// cudaErrorECCUncorrectable, NvlinkUncorrectable, Contained; IllegalAddress, LaunchTimeout,
// ContextIsDestroyed, Assert, HardwareStackError, IllegalInstruction, MisalignedAddress,
// InvalidAddressSpace, InvalidPc, LaunchFailure, TensorMemoryLeak; MpsClientTerminated;
// ExternalDevice.
constexpr std::array kSticky{214, 220, 226, 700, 702, 709, 710, 714,
                             715, 716, 717, 718, 719, 721, 810, 911};

constexpr int major_of(int version) { return version / 1000; }

}  // namespace

std::string cuda_version_words(int version) {
  return version > 0 ? fmt::format("{}.{}", major_of(version), version % 1000 / 10) : "";
}

std::string gpu_refusal(const GpuNode& n) {
  if (n.driver <= 0) {
    return "no NVIDIA driver (libcuda.so.1) on this node";
  }
  if (n.error == kInsufficientDriver || major_of(n.driver) < major_of(n.runtime)) {
    return fmt::format("the driver is for CUDA {}, this program needs one for CUDA {}.0 or later",
                       cuda_version_words(n.driver), major_of(n.runtime));
  }
  if (n.error == kNoDevice || (n.error == 0 && n.devices <= 0)) {
    return "the driver finds no GPU (in a container: --gpus all; CUDA_VISIBLE_DEVICES hides some)";
  }
  return n.error == 0 ? "" : n.error_words;
}

std::string gpu_index_refusal(const GpuNode& n, std::uint32_t index) {
  const auto devices = static_cast<std::uint32_t>(std::max(0, n.devices));
  return index < devices ? ""
                         : fmt::format("--device-index {}: this node has {} GPU{}, the first is 0",
                                       index, devices, devices == 1 ? "" : "s");
}

bool sticky_cuda_error(int error) { return std::ranges::find(kSticky, error) != kSticky.end(); }

std::string gpu_memory_refusal(const GpuMemoryRequest& r) {
  const std::string left = r.all_bytes == 0
                               ? ""
                               : fmt::format(" ({} of {} are free)", format_bytes({r.free_bytes}),
                                             format_bytes({r.all_bytes}));
  return fmt::format("the GPU has no {} left for {}{}: {}", format_bytes({r.bytes}), r.purpose,
                     left, r.way_out);
}

}  // namespace blksweep
