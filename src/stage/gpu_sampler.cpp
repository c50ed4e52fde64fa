#include "stage/gpu_sampler.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/clock.h"

namespace blksweep {
namespace {

// nvml.h, as far as it is used: every function returns 0 for success.
using NvmlDevice = void*;
struct NvmlUtilization {
  unsigned gpu, memory;
};
struct NvmlMemory {
  unsigned long long total, free, used;
};
constexpr int kNvmlClockSm = 1;

struct LibraryCloser {
  void operator()(void* l) const { ::dlclose(l); }
};

class Nvml {
 public:
  static Result<Nvml> open() {
    Nvml n;
    n.library_.reset(::dlopen("libnvidia-ml.so.1", RTLD_NOW));
    if (!n.library_) {
      return unsupported("no GPU is sampled: no libnvidia-ml.so.1 (it comes with the driver)");
    }
    if (!n.find(n.init, "nvmlInit_v2") || !n.find(n.shutdown, "nvmlShutdown") ||
        !n.find(n.by_pci, "nvmlDeviceGetHandleByPciBusId_v2") ||
        !n.find(n.utilisation, "nvmlDeviceGetUtilizationRates") ||
        !n.find(n.memory, "nvmlDeviceGetMemoryInfo") ||
        !n.find(n.clock, "nvmlDeviceGetClockInfo")) {
      return unsupported("no GPU is sampled: libnvidia-ml.so.1 lacks functions");
    }
    if (const int err = n.init(); err != 0) {
      return fail(fmt::format("no GPU is sampled: nvmlInit fails with {}", err));
    }
    n.ready_ = true;
    return n;
  }
  Nvml(Nvml&& o) noexcept = default;
  Nvml& operator=(Nvml&&) = delete;
  ~Nvml() {
    if (library_ && ready_) {
      shutdown();
    }
  }

  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*by_pci)(const char*, NvmlDevice*) = nullptr;
  int (*utilisation)(NvmlDevice, NvmlUtilization*) = nullptr;
  int (*memory)(NvmlDevice, NvmlMemory*) = nullptr;
  int (*clock)(NvmlDevice, int, unsigned*) = nullptr;

 private:
  Nvml() = default;
  template <class F>
  bool find(F& function, const char* name) {
    function = reinterpret_cast<F>(::dlsym(library_.get(), name));
    return function != nullptr;
  }

  std::unique_ptr<void, LibraryCloser> library_;
  bool ready_ = false;
};

}  // namespace

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
  BLKSWEEP_TRY(Nvml nvml, Nvml::open());
  auto impl = std::make_unique<Impl>(std::move(nvml));
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
