// Consumers on an NVIDIA GPU: kernels that take the time that was asked for.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/clock.h"
#include "stage/clock_cuda.h"
#include "stage/cuda_stage.h"
#include "stage/kernels_cuda.h"

namespace blksweep {
namespace {

constexpr std::size_t kPressureBytes = std::size_t{256} << 20;
constexpr unsigned kPressureBlocksPerProcessor = 4;
constexpr int kCalibrationRuns = 9;
constexpr std::uint64_t kShortSpinNs = 200'000;
constexpr unsigned kLeastGemm = 128;
constexpr unsigned kFirstGemm = 512;
constexpr unsigned kMostGemm = 16384;
constexpr double kDefaultGemmNs = 1e6;

// What a kernel of each kind needs to know to take a time. Made before the epoch.
class Work {
 public:
  virtual ~Work() = default;
  virtual cudaError_t launch(std::uint64_t ns, cudaStream_t stream) = 0;
};

class Spin final : public Work {
 public:
  explicit Spin(unsigned processors) : processors_(processors) {}
  cudaError_t launch(std::uint64_t ns, cudaStream_t stream) override {
    return launch_spin(ns, processors_, stream);
  }

 private:
  unsigned processors_;
};

class Pressure final : public Work {
 public:
  static Result<std::unique_ptr<Work>> make(unsigned processors) {
    BLKSWEEP_TRY(auto memory, device_memory<std::byte>(kPressureBytes));
    BLKSWEEP_CHECK(cuda_result(cudaMemset(memory.get(), 0, kPressureBytes), "cudaMemset"));
    return std::unique_ptr<Work>(new Pressure(processors, std::move(memory)));
  }
  cudaError_t launch(std::uint64_t ns, cudaStream_t stream) override {
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
  Result<double> median_ns(cudaStream_t stream, Launch launch) {
    std::vector<double> runs(kCalibrationRuns);
    for (double& ns : runs) {
      BLKSWEEP_CHECK(cuda_result(cudaEventRecord(begin_.get(), stream), "cudaEventRecord"));
      BLKSWEEP_CHECK(cuda_result(launch(), "calibration kernel"));
      BLKSWEEP_CHECK(cuda_result(cudaEventRecord(end_.get(), stream), "cudaEventRecord"));
      BLKSWEEP_CHECK(cuda_result(cudaEventSynchronize(end_.get()), "calibration kernel"));
      float ms = 0;
      BLKSWEEP_CHECK(
          cuda_result(cudaEventElapsedTime(&ms, begin_.get(), end_.get()), "cudaEventElapsedTime"));
      ns = static_cast<double>(ms) * 1e6;
    }
    std::ranges::nth_element(runs, runs.begin() + kCalibrationRuns / 2);
    return runs[kCalibrationRuns / 2];
  }

 private:
  Event begin_, end_;
};

// A product of n x n matrices, n such that it takes the typical time; a batch that takes longer or
// shorter has a longer or shorter inner length, in which the time is linear.
class Multiply final : public Work {
 public:
  static Result<std::unique_ptr<Work>> make(Nanos typical, cudaStream_t stream) {
    std::unique_ptr<Multiply> m(new Multiply());
    const double asked =
        typical.count() > 0 ? static_cast<double>(typical.count()) : kDefaultGemmNs;
    BLKSWEEP_CHECK(m->resize(kFirstGemm));
    for (int round = 0; round < 3; ++round) {
      BLKSWEEP_TRY(const double took, m->measure(m->gemm_.n, stream));
      BLKSWEEP_CHECK(m->resize(std::lround(m->gemm_.n * std::cbrt(asked / took))));
    }
    BLKSWEEP_TRY(const double once, m->measure(m->gemm_.n, stream));
    BLKSWEEP_TRY(const double twice, m->measure(std::uint64_t{m->gemm_.n} * 2, stream));
    m->ns_per_inner_ = std::max(1e-3, (twice - once) / m->gemm_.n);
    return std::unique_ptr<Work>(std::move(m));
  }

  cudaError_t launch(std::uint64_t ns, cudaStream_t stream) override {
    const double tiles = static_cast<double>(ns) / ns_per_inner_ / kGemmTile;
    gemm_.inner =
        std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(tiles))) * kGemmTile;
    return launch_gemm(gemm_, stream);
  }

 private:
  Multiply() = default;
  Result<> resize(std::int64_t wanted) {
    const auto n = static_cast<unsigned>(std::clamp<std::int64_t>(wanted, kLeastGemm, kMostGemm)) /
                   kGemmTile * kGemmTile;
    if (n == gemm_.n) {
      return {};
    }
    const std::size_t one = std::size_t{n} * n;
    memory_.reset();
    BLKSWEEP_TRY(memory_, device_memory<float>(3 * one));
    BLKSWEEP_CHECK(
        cuda_result(cudaMemset(memory_.get(), 0, 3 * one * sizeof(float)), "cudaMemset"));
    gemm_ = {memory_.get(), memory_.get() + one, memory_.get() + 2 * one, n, n};
    return {};
  }
  Result<double> measure(std::uint64_t inner, cudaStream_t stream) {
    gemm_.inner = inner;
    BLKSWEEP_TRY(StopClock clock, StopClock::make());
    // cudaMemset runs on the default stream, for which this one does not wait.
    BLKSWEEP_CHECK(cuda_result(cudaDeviceSynchronize(), "calibration of gemm"));
    return clock.median_ns(stream, [&] { return launch_gemm(gemm_, stream); });
  }

  DeviceMemory<float> memory_;
  Gemm gemm_{};
  double ns_per_inner_ = 1;
};

Result<std::unique_ptr<Work>> make_work(const CudaConsumerSettings& s, cudaStream_t stream) {
  int processors = 0;
  BLKSWEEP_CHECK(cuda_result(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount,
                                                    static_cast<int>(s.device)),
                             "cudaDeviceGetAttribute"));
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
    BLKSWEEP_CHECK(cuda_result(cudaDeviceSynchronize(), "preparing the consumer on the GPU"));
    BLKSWEEP_CHECK(c->calibrate());
    return std::unique_ptr<Consumer>(std::move(c));
  }
  // Memory of the kernel outlives it.
  ~CudaConsumer() override {
    cudaSetDevice(static_cast<int>(device_));
    if (stream_) {
      cudaStreamSynchronize(stream_.get());
    }
  }

  Result<ComputeTimes> consume(std::uint32_t batch, Nanos takes) override {
    BLKSWEEP_CHECK(use_device(device_));
    BLKSWEEP_CHECK(clock_.tick());
    const std::int64_t issued = now_ns();
    BLKSWEEP_CHECK(cuda_result(cudaEventRecord(begin_.get(), stream_.get()), "cudaEventRecord"));
    const std::int64_t ns = std::max<std::int64_t>(0, takes.count() - overhead_ns_);
    BLKSWEEP_CHECK(cuda_result(work_->launch(static_cast<std::uint64_t>(ns), stream_.get()),
                               fmt::format("kernel of batch {}", batch)));
    BLKSWEEP_CHECK(cuda_result(cudaEventRecord(end_.get(), stream_.get()), "cudaEventRecord"));
    BLKSWEEP_CHECK(
        cuda_result(cudaEventSynchronize(end_.get()), fmt::format("kernel of batch {}", batch)));
    const std::int64_t now = now_ns();
    ComputeTimes t;
    BLKSWEEP_TRY(t.begin_ns, clock_.time_of(begin_.get(), {issued, issued, now}));
    BLKSWEEP_TRY(t.end_ns, clock_.time_of(end_.get(), {issued, t.begin_ns, now}));
    return t;
  }
  std::optional<ClockAlignment> alignment() const override { return clock_.alignment(); }

 private:
  CudaConsumer(std::uint32_t device, CudaClock clock) : device_(device), clock_(std::move(clock)) {}

  // What a launch takes beyond what the kernel was told, between its events.
  Result<> calibrate() {
    BLKSWEEP_TRY(StopClock clock, StopClock::make());
    BLKSWEEP_TRY(const double took, clock.median_ns(stream_.get(), [&] {
      return work_->launch(kShortSpinNs, stream_.get());
    }));
    overhead_ns_ = std::clamp<std::int64_t>(std::llround(took - double{kShortSpinNs}), 0,
                                            std::int64_t{kShortSpinNs});
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
