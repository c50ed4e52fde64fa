#include "stage/cuda/nvml.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace blksweep {
namespace {

using Text = std::array<char, 128>;  // NVML's own bounds are 80 (driver) and 96 (name)

GpuIdentity identity_of(const Nvml& nvml, NvmlDevice device) {
  GpuIdentity gpu;
  Text text{};
  if (nvml.name(device, text.data(), text.size()) == 0) {
    gpu.name = text.data();
  }
  NvmlMemory memory{};
  if (nvml.memory(device, &memory) == 0) {
    gpu.memory = {memory.total};
  }
  return gpu;
}

}  // namespace

void Nvml::Close::operator()(void* library) const { ::dlclose(library); }

template <class F>
bool Nvml::find(F& function, const char* symbol) {
  function = reinterpret_cast<F>(::dlsym(library_.get(), symbol));
  return function != nullptr;
}

Result<Nvml> Nvml::open() {
  Nvml n;
  n.library_.reset(::dlopen("libnvidia-ml.so.1", RTLD_NOW));
  if (!n.library_) {
    return unsupported("no libnvidia-ml.so.1 (it comes with the driver)");
  }
  if (!n.find(n.init, "nvmlInit_v2") || !n.find(n.shutdown, "nvmlShutdown") ||
      !n.find(n.by_pci, "nvmlDeviceGetHandleByPciBusId_v2") ||
      !n.find(n.utilisation, "nvmlDeviceGetUtilizationRates") ||
      !n.find(n.memory, "nvmlDeviceGetMemoryInfo") || !n.find(n.clock, "nvmlDeviceGetClockInfo")) {
    return unsupported("libnvidia-ml.so.1 lacks functions");
  }
  n.find(n.driver_version, "nvmlSystemGetDriverVersion");
  n.find(n.count, "nvmlDeviceGetCount_v2");
  n.find(n.by_index, "nvmlDeviceGetHandleByIndex_v2");
  n.find(n.name, "nvmlDeviceGetName");
  n.find(n.uuid, "nvmlDeviceGetUUID");
  n.find(n.by_uuid, "nvmlDeviceGetHandleByUUID");
  n.find(n.throttle_reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
  n.find(n.link_generation, "nvmlDeviceGetCurrPcieLinkGeneration");
  n.find(n.link_width, "nvmlDeviceGetCurrPcieLinkWidth");
  n.find(n.link_generation_most, "nvmlDeviceGetMaxPcieLinkGeneration");
  n.find(n.link_width_most, "nvmlDeviceGetMaxPcieLinkWidth");
  if (const int err = n.init(); err != 0) {
    return fail(fmt::format("nvmlInit fails with {}", err));
  }
  n.ready_ = true;
  return n;
}

Nvml::~Nvml() {
  if (library_ && ready_) {
    shutdown();
  }
}

// nvml.h, nvmlClocksThrottleReasons.
std::string throttle_words(unsigned long long reasons) {
  constexpr std::array<std::pair<unsigned long long, const char*>, 6> kReasons{
      {{0x4, "power cap"},
       {0x8, "hardware slowdown"},
       {0x10, "clocks kept equal with other GPUs"},
       {0x20, "heat"},
       {0x40, "heat (hardware)"},
       {0x80, "power brake"}}};
  std::string words;
  for (const auto& [bit, word] : kReasons) {
    words += (reasons & bit) == 0 ? "" : (words.empty() ? "" : ", ") + std::string(word);
  }
  return words;
}

// Equal ones are counted, in the order in which they first occur.
std::string gpu_text(const std::vector<GpuIdentity>& gpus, const std::string& driver) {
  std::vector<std::pair<std::string, unsigned>> kinds;
  for (const GpuIdentity& gpu : gpus) {
    const std::string kind =
        gpu.memory.n == 0 ? gpu.name : fmt::format("{} ({})", gpu.name, format_bytes(gpu.memory));
    const auto known = std::ranges::find(kinds, kind, &std::pair<std::string, unsigned>::first);
    if (known == kinds.end()) {
      kinds.emplace_back(kind, 1);
    } else {
      ++known->second;
    }
  }
  std::string text;
  for (const auto& [kind, times] : kinds) {
    text += (text.empty() ? "" : ", ") + (times > 1 ? fmt::format("{} x {}", times, kind) : kind);
  }
  return text.empty() || driver.empty() ? text : text + "; driver " + driver;
}

std::string gpu_of_node() {
  const auto nvml = Nvml::open();
  if (!nvml || nvml->driver_version == nullptr || nvml->count == nullptr ||
      nvml->by_index == nullptr || nvml->name == nullptr) {
    return "";
  }
  unsigned count = 0;
  std::vector<GpuIdentity> gpus;
  if (nvml->count(&count) == 0) {
    for (unsigned i = 0; i < count; ++i) {
      if (NvmlDevice device = nullptr; nvml->by_index(i, &device) == 0) {
        gpus.push_back(identity_of(*nvml, device));
      }
    }
  }
  Text driver{};
  const bool known = nvml->driver_version(driver.data(), driver.size()) == 0;
  return gpu_text(gpus, known ? driver.data() : "");
}

}  // namespace blksweep
