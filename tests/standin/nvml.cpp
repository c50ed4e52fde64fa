// A stand-in for libnvidia-ml.so.1: one GPU, whose use is what the stand-in for libcuda.so.1 in
// the same process says of the last sixth of a second.
#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <vector>

#include "stage/cuda/nvml.h"
#include "standin/standin.h"

namespace {

using blksweep::NvmlDevice, blksweep::NvmlMemory, blksweep::NvmlUtilization;

constexpr std::int64_t kPeriodNs = 166'666'667;
constexpr int kNotFound = 6, kInvalid = 2;  // NVML_ERROR_NOT_FOUND, NVML_ERROR_INVALID_ARGUMENT
constexpr int kNotSupported = 3;
int the_device = 0, the_instance = 0;  // of MIG

std::int64_t now_ns() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

// What ran in this process; nothing where it uses no GPU.
std::vector<StandinSpan> spans() {
  std::vector<StandinSpan> all;
  void* const cuda = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (cuda == nullptr) {
    return all;
  }
  using Spans = std::size_t (*)(StandinSpan*, std::size_t);
  const auto get = reinterpret_cast<Spans>(::dlsym(cuda, "standin_spans"));
  all.resize(get(nullptr, 0));
  all.resize(std::min(all.size(), get(all.data(), all.size())));
  ::dlclose(cuda);
  return all;
}

// Percent of the period in which one ran.
unsigned use_of(int kernel) {
  const std::int64_t end = now_ns();
  std::int64_t busy = 0;
  for (const StandinSpan& s : spans()) {
    if (s.kernel == kernel) {
      busy += std::max<std::int64_t>(
          0, std::min(s.end_ns, end) - std::max(s.begin_ns, end - kPeriodNs));
    }
  }
  return static_cast<unsigned>(std::min<std::int64_t>(100, busy * 100 / kPeriodNs));
}

int give(const char* text, char* to, unsigned room) {
  if (std::strlen(text) >= room) {
    return kInvalid;
  }
  std::memcpy(to, text, std::strlen(text) + 1);
  return 0;
}

}  // namespace

extern "C" {

int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }
int nvmlSystemGetDriverVersion(char* text, unsigned room) { return give("999.0", text, room); }
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 1;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, NvmlDevice* device) {
  *device = &the_device;
  return index == 0 ? 0 : kInvalid;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* pci, NvmlDevice* device) {
  *device = &the_device;
  return std::strcmp(pci, "0000:65:00.0") == 0 ? 0 : kNotFound;
}
int nvmlDeviceGetHandleByUUID(const char* uuid, NvmlDevice* device) {
  *device = &the_instance;
  return std::strcmp(uuid, "MIG-00000000-0000-0000-0000-000000000002") == 0 ? 0 : kNotFound;
}
int nvmlDeviceGetName(NvmlDevice, char* text, unsigned room) {
  return give("Stand-in", text, room);
}
int nvmlDeviceGetUtilizationRates(NvmlDevice device, NvmlUtilization* use) {
  if (device == &the_instance) {
    return kNotSupported;
  }
  *use = {use_of(1), use_of(0)};
  return 0;
}
int nvmlDeviceGetMemoryInfo(NvmlDevice device, NvmlMemory* memory) {
  if (device == &the_instance) {
    *memory = {1'000'000'000, 500'000'000, 500'000'000};
    return 0;
  }
  *memory = {4'000'000'000, 3'000'000'000, 1'000'000'000};
  return 0;
}
int nvmlDeviceGetClockInfo(NvmlDevice, int, unsigned* mhz) {
  *mhz = 1000;
  return 0;
}
int nvmlDeviceGetUUID(NvmlDevice, char* text, unsigned room) {
  return give("GPU-00000000-0000-0000-0000-000000000001", text, room);
}
int nvmlDeviceGetCurrentClocksThrottleReasons(NvmlDevice, unsigned long long* reasons) {
  *reasons = use_of(1) > 0 ? 0 : 1;  // idle
  return 0;
}
int nvmlDeviceGetCurrPcieLinkGeneration(NvmlDevice, unsigned* generation) {
  *generation = use_of(0) > 0 ? 5 : 1;  // an idle link slows down
  return 0;
}
int nvmlDeviceGetCurrPcieLinkWidth(NvmlDevice, unsigned* width) {
  *width = 16;
  return 0;
}
int nvmlDeviceGetMaxPcieLinkGeneration(NvmlDevice, unsigned* generation) {
  *generation = 5;
  return 0;
}
int nvmlDeviceGetMaxPcieLinkWidth(NvmlDevice, unsigned* width) {
  *width = 16;
  return 0;
}
}
