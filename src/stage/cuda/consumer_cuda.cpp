// Consumers on an NVIDIA GPU: kernels that take the time that was asked for.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/clock.h"
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

// What a kernel of each kind needs to know to take a time. Made before the epoch.
class Work {
 public:
  virtual ~Work() = default;
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

// Runs a launch and returns its time between two events.
class StopClock {
 public:
  static Result<StopClock> make() {
    StopClock c;
    BLKSWEEP_TRY(c.begin_, make_event(false));
    BLKSWEEP_TRY(c.end_, make_event(true));
    return c;
  }
  template <class Launch>
  Result<double> median_ns(CUstream stream, Launch launch) {
    std::vector<double> runs(kCalibrationRuns);
    for (double& ns : runs) {
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
      BLKSWEEP_TRY(const double row, clock.median_ns(stream, [&] {
        return m->launch_row({n, kGemmsInARow}, stream);
      }));
      m->sizes_.push_back({n, std::max(1.0, row / kGemmsInARow)});
      if (m->sizes_.back().ns * 4 > static_cast<double>(asked)) {
        break;  // the next one takes up to 8 times as long
      }
    }
    return std::unique_ptr<Work>(std::move(m));
  }

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
    BLKSWEEP_CHECK(cuda_result(
        cuda_driver().memory_set(on_gpu(memory_.get()), 0, 3 * one * sizeof(float)), "cuMemsetD8"));
    // It runs on the default stream, for which the others do not wait.
    return cuda_result(cuda_driver().context_wait(), "calibration of gemm");
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

class CudaConsumer final : public Consumer {
 public:
  static Result<std::unique_ptr<Consumer>> make(const CudaConsumerSettings& settings) {
    BLKSWEEP_CHECK(open_device(settings.device));
    BLKSWEEP_TRY(CudaClock clock, CudaClock::make());
    std::unique_ptr<CudaConsumer> c(new CudaConsumer(settings.device, std::move(clock)));
    BLKSWEEP_TRY(c->stream_, make_stream());
    BLKSWEEP_TRY(c->begin_, make_event(false));
    BLKSWEEP_TRY(c->end_, make_event(true));
    BLKSWEEP_TRY(c->work_, make_work(settings, c->stream_.get()));
    BLKSWEEP_CHECK(cuda_result(cuda_driver().context_wait(), "preparing the consumer on the GPU"));
    BLKSWEEP_CHECK(c->calibrate(settings.typical));
    return std::unique_ptr<Consumer>(std::move(c));
  }
  // Memory of the kernel outlives it.
  ~CudaConsumer() override {
    [[maybe_unused]] const Result<> here = use_device(device_);
    if (stream_) {
      cuda_driver().stream_wait(stream_.get());
    }
  }

  Result<TimeSpan> consume(std::uint32_t batch, Nanos takes, std::int64_t /*arrived_ns*/) override {
    BLKSWEEP_CHECK(use_device(device_));
    BLKSWEEP_CHECK(clock_.tick());
    const std::int64_t issued = now_ns();
    BLKSWEEP_CHECK(
        cuda_result(cuda_driver().event_record(begin_.get(), stream_.get()), "cuEventRecord"));
    const std::int64_t ns = std::max<std::int64_t>(0, takes.count() - overhead_ns_);
    BLKSWEEP_CHECK(cuda_result(work_->launch(static_cast<std::uint64_t>(ns), stream_.get()),
                               fmt::format("kernel of batch {}", batch)));
    BLKSWEEP_CHECK(
        cuda_result(cuda_driver().event_record(end_.get(), stream_.get()), "cuEventRecord"));
    BLKSWEEP_CHECK(cuda_result(cuda_driver().event_wait(end_.get()),
                               fmt::format("kernel of batch {}", batch)));
    const std::int64_t now = now_ns();
    BLKSWEEP_CHECK(clock_.tick());
    TimeSpan t;
    BLKSWEEP_TRY(t.begin, clock_.time_of(begin_.get(), {issued, issued, now}));
    BLKSWEEP_TRY(t.end, clock_.time_of(end_.get(), {issued, t.begin, now}));
    return t;
  }
  std::optional<ClockAlignment> alignment() const override { return clock_.alignment(); }

 private:
  CudaConsumer(std::uint32_t device, CudaClock clock) : device_(device), clock_(std::move(clock)) {}

  // What the work takes beyond what it was asked for, between its events: a launch; of products
  // also what their clock rate under load differs from that of short rows.
  Result<> calibrate(Nanos typical) {
    const std::int64_t asked = std::clamp<std::int64_t>(typical.count(), kShortNs, kLongNs);
    BLKSWEEP_TRY(StopClock clock, StopClock::make());
    for (int round = 0; round < 2; ++round) {
      const auto ns = static_cast<std::uint64_t>(asked - overhead_ns_);
      BLKSWEEP_TRY(const double took, clock.median_ns(stream_.get(), [&] {
        return work_->launch(ns, stream_.get());
      }));
      overhead_ns_ = std::clamp<std::int64_t>(
          overhead_ns_ + std::llround(took - static_cast<double>(asked)), -asked / 2, asked / 2);
    }
    return {};
  }

  std::uint32_t device_;
  CudaClock clock_;
  Stream stream_;
  Event begin_, end_;
  std::unique_ptr<Work> work_;
  std::int64_t overhead_ns_ = 0;
};

}  // namespace

Result<std::unique_ptr<Consumer>> make_cuda_consumer(const CudaConsumerSettings& settings) {
  return CudaConsumer::make(settings);
}

}  // namespace blksweep
