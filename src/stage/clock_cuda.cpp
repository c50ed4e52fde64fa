#include "stage/clock_cuda.h"

#include <cmath>
#include <limits>

#include "base/clock.h"

namespace blksweep {
namespace {

constexpr std::int64_t kReferenceAgeNs = 100'000'000;
constexpr int kFirstTries = 32;
constexpr int kTries = 3;

Result<std::int64_t> elapsed_ns(cudaEvent_t from, cudaEvent_t to) {
  float ms = 0;
  BLKSWEEP_CHECK(cuda_result(cudaEventElapsedTime(&ms, from, to), "cudaEventElapsedTime"));
  return std::llround(static_cast<double>(ms) * 1e6);
}

}  // namespace

// The stream is idle: what lies between the two readings is the way to the GPU and back.
Result<ClockReading> CudaClock::read_clocks(cudaEvent_t event) {
  ClockReading r;
  r.before_ns = now_ns();
  BLKSWEEP_CHECK(cuda_result(cudaEventRecord(event, stream_.get()), "cudaEventRecord"));
  for (;;) {
    const cudaError_t state = cudaEventQuery(event);
    r.after_ns = now_ns();
    if (state == cudaSuccess) {
      return r;
    }
    if (state != cudaErrorNotReady) {
      BLKSWEEP_CHECK(cuda_result(state, "cudaEventQuery"));
    }
  }
}

Result<CudaClock> CudaClock::make() {
  CudaClock clock;
  BLKSWEEP_TRY(clock.stream_, make_stream());
  for (Reference& r : clock.references_) {
    BLKSWEEP_TRY(r.event, make_event(false));
    // Of no use before it is read: later than everything.
    r.reading.after_ns = std::numeric_limits<std::int64_t>::max();
  }
  // The first one is the origin of device_ns, and the first record on a stream is slow.
  Reference& origin = clock.references_[0];
  BLKSWEEP_TRY(origin.reading, clock.read_clocks(origin.event.get()));
  BLKSWEEP_TRY(origin.reading, clock.read_clocks(origin.event.get()));
  BLKSWEEP_CHECK(clock.anchor(kFirstTries));
  return clock;
}

// Each try is an honest anchor of its own; AnchorClock keeps the most certain one.
Result<> CudaClock::anchor(int tries) {
  const Reference& from = references_[newest_];
  Reference& to = references_[(newest_ + 1) % references_.size()];
  for (int i = 0; i < tries; ++i) {
    BLKSWEEP_TRY(to.reading, read_clocks(to.event.get()));
    BLKSWEEP_TRY(const std::int64_t since, elapsed_ns(from.event.get(), to.event.get()));
    to.reading.device_ns = from.reading.device_ns + since;
    anchors_.offer(to.reading);
  }
  newest_ = (newest_ + 1) % references_.size();
  return {};
}

Result<> CudaClock::tick() {
  return now_ns() - references_[newest_].reading.after_ns < kReferenceAgeNs ? Result<>()
                                                                            : anchor(kTries);
}

Result<std::int64_t> CudaClock::time_of(cudaEvent_t event, const Bounds& b) {
  std::size_t at = newest_;
  for (std::size_t i = 0;
       i + 1 < references_.size() && references_[at].reading.after_ns > b.recorded_ns; ++i) {
    at = (at + references_.size() - 1) % references_.size();
  }
  const Reference& from = references_[at];
  BLKSWEEP_TRY(const std::int64_t since, elapsed_ns(from.event.get(), event));
  return anchors_.to_host_within(from.reading.device_ns + since, b.least_ns, b.seen_ns);
}

}  // namespace blksweep
