// Consumers on an NVIDIA GPU: kernels that take the time that was asked for.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/clock.h"
#include "base/rng.h"
#include "stage/cuda/clock_cuda.h"
#include "stage/cuda/cuda_stage.h"
#include "stage/cuda/gemm_plan.h"
#include "stage/cuda/kernels_cuda.h"

namespace blksweep {
namespace {

constexpr std::size_t kPressureBytes = std::size_t{256} << 20;
constexpr unsigned kPressureBlocksPerProcessor = 4;
constexpr int kCalibrationRuns = 9;
constexpr std::int64_t kShortNs = 200'000, kLongNs = 50'000'000;  // of a calibration run
constexpr unsigned kLeastGemm = 128;
constexpr unsigned kMostGemm = 16384;
constexpr int kGemmsInARow = 4;
constexpr std::size_t kRandomFloats = std::size_t{1} << 20;  // repeated: no product notices
constexpr std::uint64_t kMatrixSeed = 1;
constexpr std::int64_t kWarmUpNs = 200'000'000;
constexpr double kLeastShare = 0.25;  // that a calibration may change what is asked for

// What a kernel of each kind needs to know to take a time. Made before the epoch.
class Work {
 public:
  virtual ~Work() = default;
  // It ends by the GPU's clock: what it takes longer is the way to its first instruction. Else its
  // time is as much longer as there is more of it.
  virtual bool by_clock() const { return true; }
  virtual CUresult launch(std::uint64_t ns, CUstream stream) = 0;
};

class Spin final : public Work {
 public:
  explicit Spin(unsigned processors) : processors_(processors) {}
  CUresult launch(std::uint64_t ns, CUstream stream) override {
    return launch_spin(ns, processors_, stream);
  }

 private:
  unsigned processors_;
};

class Pressure final : public Work {
 public:
  static Result<std::unique_ptr<Work>> make(unsigned processors) {
    const MemoryUse use{"--consumer cuda-memory",
                        "use --consumer cuda, or a smaller --batch or fewer --device-slots"};
    BLKSWEEP_TRY(auto memory, device_memory<std::byte>(kPressureBytes, use));
    BLKSWEEP_CHECK(cuda_result(cuda_driver().memory_set(on_gpu(memory.get()), 0, kPressureBytes),
                               "cuMemsetD8"));
    return std::unique_ptr<Work>(new Pressure(processors, std::move(memory)));
  }
  CUresult launch(std::uint64_t ns, CUstream stream) override {
    return launch_memory_pressure(memory_.get(), kPressureBytes, ns,
                                  processors_ * kPressureBlocksPerProcessor, stream);
  }

 private:
  Pressure(unsigned processors, DeviceMemory<std::byte> memory)
      : processors_(processors), memory_(std::move(memory)) {}
  unsigned processors_;
  DeviceMemory<std::byte> memory_;
};

// Runs a launch and returns its time between two events. `ahead` is launched before the first of
// them: while it runs the host issues the rest, as it does in an epoch whose kernels are fed. On an
// idle stream the way from one call of the host to the next would count as the kernel's.
class StopClock {
 public:
  static Result<StopClock> make() {
    StopClock c;
    BLKSWEEP_TRY(c.begin_, make_event(false));
    BLKSWEEP_TRY(c.end_, make_event(true));
    return c;
  }
  template <class Ahead, class Launch>
  Result<double> median_ns(CUstream stream, Ahead ahead, Launch launch) {
    std::vector<double> runs(kCalibrationRuns);
    for (double& ns : runs) {
      BLKSWEEP_CHECK(cuda_result(ahead(), "calibration kernel"));
      BLKSWEEP_CHECK(
          cuda_result(cuda_driver().event_record(begin_.get(), stream), "cuEventRecord"));
      BLKSWEEP_CHECK(cuda_result(launch(), "calibration kernel"));
      BLKSWEEP_CHECK(cuda_result(cuda_driver().event_record(end_.get(), stream), "cuEventRecord"));
      BLKSWEEP_CHECK(cuda_result(cuda_driver().event_wait(end_.get()), "calibration kernel"));
      float ms = 0;
      BLKSWEEP_CHECK(cuda_result(cuda_driver().event_elapsed(&ms, begin_.get(), end_.get()),
                                 "cuEventElapsedTime"));
      ns = static_cast<double>(ms) * 1e6;
    }
    std::ranges::nth_element(runs, runs.begin() + kCalibrationRuns / 2);
    return runs[kCalibrationRuns / 2];
  }

 private:
  Event begin_, end_;
};

// Square products, the largest that fit into the time and smaller ones for what remains. The sizes
// are measured once, in rows, so that the way from one launch to the next is in their times.
class Multiply final : public Work {
 public:
  static Result<std::unique_ptr<Work>> make(Nanos typical, CUstream stream) {
    std::unique_ptr<Multiply> m(new Multiply());
    const std::int64_t asked = std::clamp<std::int64_t>(typical.count(), kShortNs, kLongNs);
    BLKSWEEP_TRY(StopClock clock, StopClock::make());
    for (unsigned n = kLeastGemm; n <= kMostGemm; n *= 2) {
      if (const Result<> grown = m->grow(n); !grown) {
        if (m->sizes_.empty()) {
          return tl::unexpected(grown.error());
        }
        break;  // no memory for larger ones: there will be more of the smaller
      }
      const auto one_row = [&] { return m->launch_row({n, kGemmsInARow}, stream); };
      BLKSWEEP_TRY(const double row, clock.median_ns(stream, one_row, one_row));
      m->sizes_.push_back({n, std::max(1.0, row / kGemmsInARow)});
      if (m->sizes_.back().ns * 4 > static_cast<double>(asked)) {
        break;  // the next one takes up to 8 times as long
      }
    }
    return std::unique_ptr<Work>(std::move(m));
  }
  // Where measuring failed, products that use the matrices may be under way.
  ~Multiply() override { cuda_driver().context_wait(); }

  bool by_clock() const override { return false; }
  CUresult launch(std::uint64_t ns, CUstream stream) override {
    for (const GemmCount& row : plan_gemm(sizes_, static_cast<double>(ns))) {
      if (const CUresult err = launch_row(row, stream); err != CUDA_SUCCESS) {
        return err;
      }
    }
    return CUDA_SUCCESS;
  }

 private:
  Multiply() = default;
  // Smaller products use the beginnings of the matrices.
  Result<> grow(unsigned n) {
    const std::size_t one = std::size_t{n} * n;
    DeviceMemory<float> old = std::move(memory_);
    const MemoryUse use{"the matrices of --consumer gemm",
                        "use a smaller --batch or fewer --device-slots"};
    auto grown = device_memory<float>(3 * one, use);
    if (!grown) {
      memory_ = std::move(old);
      return tl::unexpected(grown.error());
    }
    memory_ = *std::move(grown);
    matrix_ = one;
    return fill(3 * one);
  }
  // Zeros draw less power than numbers do, and clocks stay higher.
  Result<> fill(std::size_t floats) {
    const std::size_t most = std::min(floats, kRandomFloats);
    BLKSWEEP_TRY(const PinnedMemory block, pinned_memory(most * sizeof(float)));
    auto* const random = static_cast<float*>(block.get());
    Rng rng(kMatrixSeed);
    std::generate_n(random, most, [&rng] { return static_cast<float>(rng.unit() * 2 - 1); });
    BLKSWEEP_TRY(const Stream stream, make_stream());
    for (std::size_t at = 0; at < floats; at += most) {
      BLKSWEEP_CHECK(cuda_result(
          cuda_driver().copy_to_device(on_gpu(memory_.get() + at), random,
                                       std::min(most, floats - at) * sizeof(float), stream.get()),
          "cuMemcpyHtoDAsync of the matrices"));
    }
    return cuda_result(cuda_driver().stream_wait(stream.get()), "the matrices");
  }
  CUresult launch_row(const GemmCount& row, CUstream stream) {
    float* const a = memory_.get();
    CUresult err = CUDA_SUCCESS;
    for (std::uint64_t i = 0; i < row.times && err == CUDA_SUCCESS; ++i) {
      err = launch_gemm({a, a + matrix_, a + 2 * matrix_, row.n}, stream);
    }
    return err;
  }

  DeviceMemory<float> memory_;
  std::size_t matrix_ = 0;  // floats of one
  std::vector<GemmSize> sizes_;
};

Result<std::unique_ptr<Work>> make_work(const CudaConsumerSettings& s, CUstream stream) {
  int processors = 0;
  BLKSWEEP_CHECK(cuda_result(
      cuda_driver().device_attribute(&processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
                                     static_cast<CUdevice>(s.device)),
      "cuDeviceGetAttribute"));
  const auto count = static_cast<unsigned>(std::max(1, processors));
  if (s.kind == ConsumerKind::gemm) {
    return Multiply::make(s.typical, stream);
  }
  if (s.kind == ConsumerKind::cuda_memory) {
    return Pressure::make(count);
  }
  return std::unique_ptr<Work>(std::make_unique<Spin>(count));
}

// What was launched, between its events.
struct Launched {
  Event begin, end;
  std::int64_t issued_ns = 0, called_ns = 0;  // the host's: before all of it, before its work
};

class CudaConsumer final : public Consumer {
 public:
  static Result<std::unique_ptr<Consumer>> make(const CudaConsumerSettings& settings) {
    BLKSWEEP_CHECK(open_device(settings.device));
    std::unique_ptr<CudaConsumer> c(new CudaConsumer(settings));
    BLKSWEEP_TRY(c->clock_, CudaClock::of(settings.device));
    BLKSWEEP_TRY(c->stream_, make_stream());
    for (std::uint32_t i = 0; i < std::max(1U, settings.ahead); ++i) {
      Launched& l = c->queue_.emplace_back();
      BLKSWEEP_TRY(l.begin, make_event(false));
      BLKSWEEP_TRY(l.end, make_event(true));
    }
    BLKSWEEP_TRY(c->work_, make_work(settings, c->stream_.get()));
    BLKSWEEP_CHECK(cuda_result(cuda_driver().context_wait(), "preparing the consumer on the GPU"));
    BLKSWEEP_CHECK(c->calibrate());
    return std::unique_ptr<Consumer>(std::move(c));
  }
  // Memory of the kernels outlives them.
  ~CudaConsumer() override {
    [[maybe_unused]] const Result<> here = use_device(settings_.device);
    if (stream_) {
      cuda_driver().stream_wait(stream_.get());
    }
  }

  // Under its own load: clocks rise within milliseconds and fall with heat and power.
  Result<> warm_up() override {
    BLKSWEEP_CHECK(use_device(settings_.device));
    for (const std::int64_t begun = now_ns(); now_ns() - begun < kWarmUpNs;) {
      BLKSWEEP_CHECK(
          cuda_result(work_->launch(ask(calibrated_for()), stream_.get()), "warming up"));
      BLKSWEEP_CHECK(cuda_result(cuda_driver().stream_wait(stream_.get()), "warming up"));
    }
    BLKSWEEP_CHECK(calibrate());
    return clock_->restart();
  }

  bool waits_for(const BatchArrival& arrival) const override { return arrival.event != nullptr; }

  Result<> launch(std::uint32_t batch, Nanos takes, const BatchArrival& arrival) override {
    BLKSWEEP_CHECK(use_device(settings_.device));
    Launched& l = queue_[batch % queue_.size()];
    CUstream stream = stream_.get();
    l.issued_ns = now_ns();
    if (arrival.event != nullptr) {
      // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): a handle, and the driver's own
      auto* const there = static_cast<CUevent>(const_cast<void*>(arrival.event));
      BLKSWEEP_CHECK(
          cuda_result(cuda_driver().stream_wait_event(stream, there, 0), "cuStreamWaitEvent"));
    }
    BLKSWEEP_CHECK(cuda_result(cuda_driver().event_record(l.begin.get(), stream), "cuEventRecord"));
    l.called_ns = now_ns();
    BLKSWEEP_CHECK(cuda_result(work_->launch(ask(takes.count()), stream),
                               fmt::format("kernel of batch {}", batch)));
    return cuda_result(cuda_driver().event_record(l.end.get(), stream), "cuEventRecord");
  }

  Result<ComputeTimes> finish(std::uint32_t batch) override {
    BLKSWEEP_CHECK(use_device(settings_.device));
    const Launched& l = queue_[batch % queue_.size()];
    BLKSWEEP_CHECK(cuda_result(cuda_driver().event_wait(l.end.get()),
                               fmt::format("kernel of batch {}", batch)));
    BLKSWEEP_TRY(CudaClock::Interval busy,
                 clock_->between(l.begin.get(), l.end.get(), {l.issued_ns, l.issued_ns, now_ns()}));
    busy.begin_not_before(l.called_ns);
    return ComputeTimes{busy.host, settings_.host_clock ? busy.host : busy.device};
  }
  std::optional<ClockAlignment> alignment() const override { return clock_->alignment(); }

 private:
  explicit CudaConsumer(const CudaConsumerSettings& settings) : settings_(settings) {}

  std::int64_t calibrated_for() const {
    return std::clamp<std::int64_t>(settings_.typical.count(), kShortNs, kLongNs);
  }
  // What the work is told so that it takes `ns` between its events.
  std::uint64_t ask(std::int64_t ns) const {
    const double told = static_cast<double>(ns) * share_ - overhead_ns_;
    return static_cast<std::uint64_t>(std::llround(std::max(0.0, told)));
  }

  Result<> calibrate() {
    const auto asked = static_cast<double>(calibrated_for());
    BLKSWEEP_TRY(StopClock clock, StopClock::make());
    for (int round = 0; round < 2; ++round) {
      const std::uint64_t told = ask(calibrated_for());
      BLKSWEEP_TRY(const double took,
                   clock.median_ns(
                       stream_.get(), [&] { return work_->launch(kShortNs, stream_.get()); },
                       [&] { return work_->launch(told, stream_.get()); }));
      if (work_->by_clock()) {
        overhead_ns_ = std::clamp(overhead_ns_ + took - asked, -asked / 2, asked / 2);
      } else {
        share_ = std::clamp(share_ * asked / std::max(1.0, took), kLeastShare, 1 / kLeastShare);
      }
    }
    return {};
  }

  const CudaConsumerSettings settings_;
  std::shared_ptr<CudaClock> clock_;
  Stream stream_;
  std::vector<Launched> queue_;  // by batch
  std::unique_ptr<Work> work_;
  double overhead_ns_ = 0, share_ = 1;
};

}  // namespace

Result<std::unique_ptr<Consumer>> make_cuda_consumer(const CudaConsumerSettings& settings) {
  return CudaConsumer::make(settings);
}

}  // namespace blksweep
