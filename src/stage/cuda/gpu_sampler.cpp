#include "stage/cuda/gpu_sampler.h"

#include <fmt/format.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "stage/cuda/nvml.h"

namespace blksweep {

struct GpuSampler::Impl {
  explicit Impl(Nvml n) : nvml(std::move(n)) {}

  GpuSample sample() const {
    GpuSample s;
    s.at_ns = now_ns();
    NvmlUtilization use{};
    if (nvml.utilisation(device, &use) == 0) {
      s.utilisation = use.gpu;
      s.memory_utilisation = use.memory;
    }
    NvmlMemory memory{};
    if (nvml.memory(device, &memory) == 0) {
      s.memory_used_bytes = memory.used;
    }
    unsigned mhz = 0;
    if (nvml.clock(device, kNvmlClockSm, &mhz) == 0) {
      s.clock_mhz = mhz;
    }
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
  NvmlDevice device = nullptr;
  std::chrono::milliseconds period{20};
  std::mutex mutex;  // of `done`
  std::condition_variable wake;
  bool done = false;
  std::vector<GpuSample> samples;  // of the thread until it is joined
  std::thread thread;
};

GpuSampler::GpuSampler(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
GpuSampler::~GpuSampler() { stop(); }

Result<std::unique_ptr<GpuSampler>> GpuSampler::start(const std::string& pci,
                                                      std::chrono::milliseconds period) {
  auto nvml = Nvml::open();
  if (!nvml) {
    return fail("no GPU is sampled: " + nvml.error().message(), nvml.error().exit_code);
  }
  auto impl = std::make_unique<Impl>(*std::move(nvml));
  impl->period = period;
  if (const int err = impl->nvml.by_pci(pci.c_str(), &impl->device); err != 0) {
    return fail(fmt::format("no GPU is sampled: NVML knows no GPU {} ({})", pci, err));
  }
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

}  // namespace blksweep
