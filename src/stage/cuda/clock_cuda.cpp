#include "stage/cuda/clock_cuda.h"

#include <cmath>
#include <limits>

#include "base/clock.h"

namespace blksweep {
namespace {

// Half of it at 600 ppm, the most that an event is away from the nearest anchor, is 6 us.
constexpr std::int64_t kAnchorAgeNs = 20'000'000;
constexpr std::int64_t kOriginAgeNs = 2'000'000'000;
constexpr std::int64_t kFirstPatienceNs = 1'000'000'000;
// An idle stream answers in about 10 us; where its work queue is shared with another stream's
// (CUDA_DEVICE_MAX_CONNECTIONS) it may have to wait for a kernel, and such an anchor is worthless.
constexpr std::int64_t kPatienceNs = 200'000;
constexpr int kFirstTries = 32;
constexpr int kTries = 3;
// cuEventElapsedTime(): "a resolution of around 0.5 microseconds".
constexpr std::int64_t kResolutionNs = 500;
constexpr double kFloatRounding = 1.0 / (1 << 24);
constexpr const char* kHangs =
    "an event on an idle stream of the GPU did not pass within 1 s: the GPU hangs, or somebody "
    "else "
    "keeps it busy";

}  // namespace

// The stream is idle: what lies between the two readings is the way to the GPU and back.
Result<std::optional<ClockReading>> CudaClock::read_clocks(CUevent event) {
  const std::int64_t patience = anchors_.alignment().anchors == 0 ? kFirstPatienceNs : kPatienceNs;
  ClockReading r;
  r.before_ns = now_ns();
  BLKSWEEP_CHECK(cuda_result(cuda_driver().event_record(event, stream_.get()), "cuEventRecord"));
  for (;;) {
    const CUresult state = cuda_driver().event_query(event);
    r.after_ns = now_ns();
    if (state == CUDA_SUCCESS) {
      return r;
    }
    if (state != CUDA_ERROR_NOT_READY) {
      BLKSWEEP_CHECK(cuda_result(state, "cuEventQuery"));
    }
    if (r.after_ns - r.before_ns > patience) {
      return std::nullopt;
    }
  }
}

Result<DeviceTime> CudaClock::since(const Origin& origin, CUevent event) const {
  float ms = 0;
  BLKSWEEP_CHECK(cuda_result(cuda_driver().event_elapsed(&ms, origin.event.get(), event),
                             "cuEventElapsedTime"));
  const double ns = static_cast<double>(ms) * 1e6;
  return DeviceTime{origin.at.ns + std::llround(ns),
                    kResolutionNs + std::llround(std::abs(ns) * kFloatRounding)};
}

Result<CudaClock> CudaClock::make() {
  CudaClock clock;
  BLKSWEEP_TRY(clock.stream_, make_stream());
  BLKSWEEP_TRY(clock.probe_, make_event(false));
  for (Origin& o : clock.origins_) {
    BLKSWEEP_TRY(o.event, make_event(false));
    // Of no use before it is recorded: later than everything.
    o.passed_ns = std::numeric_limits<std::int64_t>::max();
  }
  // The first record on a stream is slow.
  Origin& first = clock.origins_[0];
  BLKSWEEP_CHECK(clock.read_clocks(first.event.get()));
  BLKSWEEP_TRY(const std::optional<ClockReading> passed, clock.read_clocks(first.event.get()));
  if (!passed) {
    return fail(kHangs);
  }
  first.passed_ns = passed->after_ns;
  BLKSWEEP_CHECK(clock.anchor(kFirstTries));
  return clock.alignment().anchors > 0 ? Result<CudaClock>(std::move(clock)) : fail(kHangs);
}

// Each try is an honest anchor of its own; one that nothing disturbed is enough.
Result<> CudaClock::anchor(int tries) {
  for (int i = 0; i < tries; ++i) {
    BLKSWEEP_TRY(std::optional<ClockReading> r, read_clocks(probe_.get()));
    if (!r && tries == kTries) {
      break;  // once more would cost the epoch the same again
    }
    if (!r) {
      continue;
    }
    BLKSWEEP_TRY(const DeviceTime at, since(origins_[newest_], probe_.get()));
    r->device_ns = at.ns;
    r->device_error_ns = at.error_ns;
    good_half_ns_ = good_half_ns_ == 0 ? r->half() : std::min(good_half_ns_, r->half());
    anchors_.offer(*r);
    if (tries == kTries && r->half() <= 2 * good_half_ns_) {
      break;
    }
  }
  tried_ns_ = now_ns();
  return {};
}

Result<> CudaClock::renew_origin() {
  Origin& next = origins_[(newest_ + 1) % origins_.size()];
  next.passed_ns = std::numeric_limits<std::int64_t>::max();
  BLKSWEEP_TRY(const std::optional<ClockReading> passed, read_clocks(next.event.get()));
  if (!passed) {
    return {};  // later, then
  }
  BLKSWEEP_TRY(next.at, since(origins_[newest_], next.event.get()));
  next.passed_ns = passed->after_ns;
  newest_ = (newest_ + 1) % origins_.size();
  return {};
}

Result<> CudaClock::tick() {
  const std::int64_t now = now_ns();
  if (now - tried_ns_ < kAnchorAgeNs) {
    return {};
  }
  if (now - origins_[newest_].passed_ns >= kOriginAgeNs) {
    BLKSWEEP_CHECK(renew_origin());
  }
  return anchor(kTries);
}

Result<std::int64_t> CudaClock::time_of(CUevent event, const Bounds& b) {
  std::size_t at = newest_;
  for (std::size_t i = 0; i + 1 < origins_.size() && origins_[at].passed_ns > b.recorded_ns; ++i) {
    at = (at + origins_.size() - 1) % origins_.size();
  }
  BLKSWEEP_TRY(DeviceTime when, since(origins_[at], event));
  // The anchor may be measured from the origin before or after, which is one interval farther.
  when.error_ns += origins_[newest_].at.error_ns;
  return anchors_.to_host_within(when, b.least_ns, b.seen_ns);
}

}  // namespace blksweep
