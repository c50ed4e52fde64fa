#include "stage/cuda/gpu_sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "stage/cuda/nvml.h"

namespace blksweep {

namespace {

// Of a function that an old library may lack.
std::optional<std::uint32_t> asked(int (*function)(NvmlDevice, unsigned*), NvmlDevice device) {
  unsigned value = 0;
  return function != nullptr && function(device, &value) == 0 ? std::optional(value) : std::nullopt;
}

std::string asked(int (*function)(NvmlDevice, char*, unsigned), NvmlDevice device) {
  std::array<char, 128> text{};  // NVML's own bounds are 80 to 96
  return function != nullptr &&
                 function(device, text.data(), static_cast<unsigned>(text.size())) == 0
             ? text.data()
             : "";
}

}  // namespace

struct GpuSampler::Impl {
  explicit Impl(Nvml n) : nvml(std::move(n)) {}

  GpuSample sample() {
    GpuSample s;
    s.at_ns = now_ns();
    NvmlUtilization use{};
    if (used != nullptr && nvml.utilisation(used, &use) == 0) {
      s.utilisation = use.gpu;
      s.memory_utilisation = use.memory;
    }
    NvmlMemory memory{};
    if (used != nullptr && nvml.memory(used, &memory) == 0) {
      s.memory_used_bytes = memory.used;
    }
    unsigned mhz = 0;
    if (nvml.clock(device, kNvmlClockSm, &mhz) == 0) {
      s.clock_mhz = mhz;
    }
    unsigned long long reasons = 0;
    if (nvml.throttle_reasons != nullptr && nvml.throttle_reasons(device, &reasons) == 0) {
      s.throttle_reasons = reasons;
    }
    place.link_generation = std::max(place.link_generation, asked(nvml.link_generation, device));
    place.link_width = std::max(place.link_width, asked(nvml.link_width, device));
    return s;
  }

  void loop() {
    std::unique_lock lock(mutex);
    while (!done) {
      samples.push_back(sample());
      wake.wait_for(lock, period, [this] { return done; });
    }
  }

  Nvml nvml;
  // What is to be said of the GPU's use: the instance's of the GPU's. Nothing can be: nullptr.
  void find_used() {
    used = device;
    if (place.uuid.starts_with("MIG-") &&
        (nvml.by_uuid == nullptr || nvml.by_uuid(place.uuid.c_str(), &used) != 0)) {
      used = nullptr;
    }
  }

  NvmlDevice device = nullptr, used = nullptr;
  std::chrono::milliseconds period{20};
  std::mutex mutex;  // of `done`
  std::condition_variable wake;
  bool done = false;
  std::vector<GpuSample> samples;  // of the thread until it is joined, and so is the place
  GpuPlace place;
  std::thread thread;
};

GpuSampler::GpuSampler(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
GpuSampler::~GpuSampler() { stop(); }

Result<std::unique_ptr<GpuSampler>> GpuSampler::start(const GpuAddress& address,
                                                      std::chrono::milliseconds period) {
  auto nvml = Nvml::open();
  if (!nvml) {
    return fail("no GPU is sampled: " + nvml.error().message(), nvml.error().exit_code);
  }
  auto impl = std::make_unique<Impl>(*std::move(nvml));
  impl->period = period;
  if (const int err = impl->nvml.by_pci(address.pci.c_str(), &impl->device); err != 0) {
    return fail(fmt::format("no GPU is sampled: NVML knows no GPU {} ({})", address.pci, err));
  }
  GpuPlace& place = impl->place;
  place.name = asked(impl->nvml.name, impl->device);
  place.uuid = gpu_uuid(address.uuid, asked(impl->nvml.uuid, impl->device));
  place.pci = address.pci;
  impl->find_used();
  place.link_generation_most = asked(impl->nvml.link_generation_most, impl->device);
  place.link_width_most = asked(impl->nvml.link_width_most, impl->device);
  Impl* const running = impl.get();
  running->thread = std::thread([running] { running->loop(); });
  return std::unique_ptr<GpuSampler>(new GpuSampler(std::move(impl)));
}

std::vector<GpuSample> GpuSampler::stop() {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->done = true;
  }
  impl_->wake.notify_all();
  if (impl_->thread.joinable()) {
    impl_->thread.join();
  }
  return std::move(impl_->samples);
}

GpuPlace GpuSampler::place() const { return impl_->place; }

}  // namespace blksweep
