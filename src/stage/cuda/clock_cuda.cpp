#include "stage/cuda/clock_cuda.h"

#include <chrono>
#include <cmath>
#include <limits>
#include <map>

#include "base/clock.h"

namespace blksweep {
namespace {

// 600 ppm of it, the most that an event is away from the anchor before, are 12 us.
constexpr std::chrono::milliseconds kAnchorAge{20};
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
constexpr std::int64_t kNotPassed = std::numeric_limits<std::int64_t>::max();
constexpr const char* kHangs =
    "an event on an idle stream of the GPU did not pass within 1 s: the GPU hangs, or somebody "
    "else "
    "keeps it busy";

std::mutex clocks_mutex;
std::map<std::uint32_t, std::weak_ptr<CudaClock>> clocks;

}  // namespace

Result<std::shared_ptr<CudaClock>> CudaClock::of(std::uint32_t device) {
  const std::lock_guard lock(clocks_mutex);
  if (std::shared_ptr<CudaClock> known = clocks[device].lock()) {
    return known;
  }
  std::shared_ptr<CudaClock> made(new CudaClock(device));
  BLKSWEEP_CHECK(made->open());
  clocks[device] = made;
  return made;
}

CudaClock::~CudaClock() {
  stop();
  [[maybe_unused]] const Result<> here = use_device(device_);  // its streams and events go now
}

Result<> CudaClock::open() {
  BLKSWEEP_TRY(stream_, make_stream());
  BLKSWEEP_TRY(probe_, make_event(false));
  for (Origin& o : origins_) {
    BLKSWEEP_TRY(o.event, make_event(false));
    o.passed_ns = kNotPassed;  // of no use before it is recorded
  }
  // The first record on a stream is slow.
  Origin& first = origins_[0];
  BLKSWEEP_CHECK(read_clocks(first.event.get(), kFirstPatienceNs));
  BLKSWEEP_TRY(const std::optional<ClockReading> passed,
               read_clocks(first.event.get(), kFirstPatienceNs));
  if (!passed) {
    return fail(kHangs);
  }
  first.passed_ns = passed->after_ns;
  BLKSWEEP_CHECK(anchor(kFirstTries));
  return alignment().anchors > 0 ? Result<>() : fail(kHangs);
}

Result<> CudaClock::restart() {
  stop();
  BLKSWEEP_CHECK(use_device(device_));
  {
    const std::lock_guard lock(mutex_);
    anchors_.restart();
    cost_ns_ = 0;
    stopping_ = false;
  }
  BLKSWEEP_CHECK(anchor(kFirstTries));
  if (alignment().anchors == 0) {
    return fail(kHangs);
  }
  ticker_ = std::thread([this] { tick(); });
  return {};
}

void CudaClock::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (ticker_.joinable()) {
    ticker_.join();
  }
}

// Without anchors times are less and less certain, which the alignment says; why there are none
// those will hear who use the GPU.
void CudaClock::tick() {
  if (!use_device(device_)) {
    return;
  }
  while (!ticked()) {
    if (now_ns() - origins_[newest_].passed_ns >= kOriginAgeNs && !renew_origin()) {
      return;
    }
    if (!anchor(kTries)) {
      return;
    }
  }
}

// Waits for the next one's turn; true: there is none.
bool CudaClock::ticked() {
  std::unique_lock lock(mutex_);
  return wake_.wait_for(lock, kAnchorAge, [this] { return stopping_; });
}

// The stream is idle: what lies between the two readings is the way to the GPU and back.
Result<std::optional<ClockReading>> CudaClock::read_clocks(CUevent event,
                                                           std::int64_t patience_ns) {
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
    if (r.after_ns - r.before_ns > patience_ns) {
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

// Each try is an honest anchor of its own; one that nothing disturbed is enough.
Result<> CudaClock::anchor(int tries) {
  const std::int64_t begun = now_ns();
  for (int i = 0; i < tries; ++i) {
    BLKSWEEP_TRY(std::optional<ClockReading> r,
                 read_clocks(probe_.get(), tries == kTries ? kPatienceNs : kFirstPatienceNs));
    if (!r) {
      break;
    }
    BLKSWEEP_TRY(const DeviceTime at, since(origins_[newest_], probe_.get()));
    r->device_ns = at.ns;
    r->device_error_ns = at.error_ns;
    good_half_ns_ = good_half_ns_ == 0 ? r->half() : std::min(good_half_ns_, r->half());
    const std::lock_guard lock(mutex_);
    anchors_.offer(*r);
    if (tries == kTries && r->half() <= 2 * good_half_ns_) {
      break;
    }
  }
  const std::lock_guard lock(mutex_);
  cost_ns_ += now_ns() - begun;
  return {};
}

Result<> CudaClock::renew_origin() {
  const std::size_t number = (newest_ + 1) % origins_.size();
  Origin& next = origins_[number];
  {
    const std::lock_guard lock(mutex_);
    next.passed_ns = kNotPassed;
  }
  BLKSWEEP_TRY(const std::optional<ClockReading> passed,
               read_clocks(next.event.get(), kPatienceNs));
  if (!passed) {
    return {};  // later, then
  }
  BLKSWEEP_TRY(const DeviceTime at, since(origins_[newest_], next.event.get()));
  const std::lock_guard lock(mutex_);
  next.at = at;
  next.passed_ns = passed->after_ns;
  newest_ = number;
  return {};
}

// The newest origin that had passed when the event was recorded; of an event that is older than
// all of them the oldest but one, because the oldest may be on its way to be the next.
Result<CudaClock::Moment> CudaClock::time_of(CUevent event, const Bounds& b) {
  const std::lock_guard lock(mutex_);
  std::size_t at = newest_;
  for (std::size_t i = 0; i + 2 < origins_.size() && origins_[at].passed_ns > b.recorded_ns; ++i) {
    const std::size_t before = (at + origins_.size() - 1) % origins_.size();
    if (origins_[before].passed_ns == kNotPassed) {
      break;
    }
    at = before;
  }
  BLKSWEEP_TRY(DeviceTime when, since(origins_[at], event));
  // The anchor may be measured from the origin before or after, which is one interval farther.
  when.error_ns += origins_[newest_].at.error_ns;
  return Moment{anchors_.to_host_within(when, b.least_ns, b.seen_ns), anchors_.on_device(when)};
}

Result<CudaClock::Interval> CudaClock::between(CUevent begin, CUevent end, const Bounds& b) {
  BLKSWEEP_TRY(const Moment from, time_of(begin, b));
  float ms = 0;
  BLKSWEEP_CHECK(cuda_result(cuda_driver().event_elapsed(&ms, begin, end), "cuEventElapsedTime"));
  const auto length = std::max<std::int64_t>(0, std::llround(static_cast<double>(ms) * 1e6));
  // What overhangs what the host saw is late by that, and no shorter.
  const std::int64_t there =
      within(from.host_ns, b.least_ns, std::max(b.least_ns, b.seen_ns - length));
  return Interval{{there, within(there + length, there, b.seen_ns)},
                  {from.device_ns, from.device_ns + length}};
}

std::int64_t CudaClock::within(std::int64_t host_ns, std::int64_t least_ns, std::int64_t seen_ns) {
  const std::lock_guard lock(mutex_);
  return anchors_.within(host_ns, least_ns, seen_ns);
}

ClockAlignment CudaClock::alignment() const {
  const std::lock_guard lock(mutex_);
  ClockAlignment seen = anchors_.alignment();
  seen.cost_ns = cost_ns_;
  return seen;
}

}  // namespace blksweep
