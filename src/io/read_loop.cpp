#include "io/read_loop.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/clock.h"
#include "base/units.h"

namespace blksweep {
namespace {

// A request that comes back this often without a new granule makes no progress: it has failed.
constexpr std::uint32_t kMostStalls = 1024;  // EAGAIN, EINTR
constexpr std::uint32_t kShortStall = 32;    // a read that is short at the same place weighs more

constexpr std::int64_t kStopLooks = 20'000'000;  // ns between looks at the stop flag while waiting

bool set(const std::atomic<bool>* stop) {
  return stop != nullptr && stop->load(std::memory_order_relaxed);
}

class HostClock final : public Clock {
 public:
  std::int64_t now() override { return now_ns(); }
  void wait_until(std::int64_t when) override {
    const timespec t{.tv_sec = when / 1'000'000'000, .tv_nsec = when % 1'000'000'000};
    ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr);
  }
};

}  // namespace

Clock& host_clock() {
  static HostClock clock;
  return clock;
}

ReadLoop::ReadLoop(ReadSource& source, Engine& engine, Clock& clock,
                   const ReadLoopSettings& settings)
    : source_(source),
      engine_(engine),
      clock_(clock),
      settings_(settings),
      flights_(settings.depth),
      completions_(settings.depth) {
  for (std::uint32_t tag = settings.depth; tag > 0; --tag) {
    free_tags_.push_back(tag - 1);
  }
  group_.reserve(settings.depth);
}

Result<> ReadLoop::run(const std::atomic<bool>* stop) {
  source_.settle(clock_.now());
  while (true) {
    const bool stopping = set(stop);
    if (!stopping) {
      BLKSWEEP_CHECK(fill());
    }
    if (in_flight() > 0) {
      BLKSWEEP_CHECK(drain());
    } else if (stopping) {
      return {};
    } else if (held_) {
      wait_until_due(stop);
    } else if (next_ == ReadSource::Next::end) {
      return {};
    } else {
      BLKSWEEP_CHECK(source_.wait());
    }
  }
}

void ReadLoop::wait_until_due(const std::atomic<bool>* stop) {
  for (std::int64_t now = clock_.now(); now < due() && !set(stop); now = clock_.now()) {
    clock_.wait_until(std::min(due(), now + kStopLooks));
  }
}

// The block layer's plug is to see neighbours together.
bool ReadLoop::room_for_group() const { return room() >= settings_.group || in_flight() == 0; }

// True: held_ is to be submitted.
bool ReadLoop::hold_next() {
  if (!held_) {
    if (free_tags_.empty()) {
      return false;
    }
    const std::uint32_t tag = free_tags_.back();
    flights_[tag] = {};
    next_ = source_.next(tag, flights_[tag].wanted);
    if (next_ != ReadSource::Next::request) {
      return false;
    }
    free_tags_.pop_back();
    held_ = tag;
  }
  return due() == 0 || due() <= clock_.now() ||
         (source_.earlier(*held_, flights_[*held_].wanted) && due() <= clock_.now());
}

Result<> ReadLoop::fill() {
  for (bool go = room_for_group(); go && hold_next();) {
    BLKSWEEP_CHECK(queue(*std::exchange(held_, std::nullopt)));
  }
  counts_.groups_cut += next_ == ReadSource::Next::blocked && !group_.empty() ? 1U : 0U;
  return submit_group();
}

// Puts what is left of a flight into the group, or fails it when its file cannot be opened (again).
Result<> ReadLoop::queue(std::uint32_t tag) {
  const Flight& f = flights_[tag];
  ReadAim aim = source_.aim(tag, f.done);
  if (aim.slot == ReadAim::kSubmitFirst) {
    BLKSWEEP_CHECK(submit_group());
    aim = source_.aim(tag, f.done);
  }
  if (aim.slot < 0) {
    fail(tag, -aim.slot, clock_.now());
    return {};
  }
  if (f.submit_ns == kNever) {
    ++counts_.submitted;
    counts_.submitted_bytes += f.wanted.length;
  }
  group_.push_back({f.wanted.offset + f.done, aim.iov.data(),
                    static_cast<std::uint32_t>(aim.iov.size()),
                    static_cast<std::uint32_t>(aim.slot), tag, aim.write});
  return {};
}

Result<> ReadLoop::submit_group() {
  BLKSWEEP_CHECK(source_.flush());
  if (group_.empty()) {
    return {};
  }
  const std::int64_t now = clock_.now();
  for (const ReadRequest& r : group_) {
    Flight& f = flights_[r.tag];
    f.submit_ns = f.submit_ns == kNever ? now : f.submit_ns;
  }
  source_.submitted(group_, now);
  if (settings_.backwards) {
    std::ranges::reverse(group_);
  }
  const Result<> submitted = engine_.submit(group_);
  group_.clear();
  return submitted;
}

// As many completions as make room for a refill, and no more, though more may be there: the groups
// that the device sees are a setting, not a consequence of its speed nor of how many completions
// the kernel hands over at once. 0: nothing more can be submitted, or the queue is short.
std::size_t ReadLoop::refill_target() const {
  const std::size_t group = std::max(settings_.refill, settings_.group);
  const std::size_t keep = settings_.depth - std::min<std::size_t>(settings_.depth, group);
  return source_.more() && in_flight() > keep ? in_flight() - keep : 0;
}

Result<> ReadLoop::drain() {
  const std::size_t target = refill_target();
  const std::size_t most = target > 0 ? target : completions_.size();
  const std::int64_t until = room_for_group() ? due() : kForever;
  BLKSWEEP_TRY(const std::size_t n, engine_.reap(std::span(completions_).first(most),
                                                 std::max<std::size_t>(1, target), until));
  const std::int64_t now = clock_.now();
  for (std::size_t i = 0; i < n; ++i) {
    BLKSWEEP_CHECK(finish(completions_[i], now));
  }
  source_.settle(now);
  return submit_group();  // rests of short reads
}

Result<> ReadLoop::finish(const Completion& c, std::int64_t now) {
  Flight& f = flights_[c.tag];
  if (c.result == -EAGAIN || c.result == -EINTR) {
    return resubmit(c, now);
  }
  const std::uint32_t before = f.done;
  f.done += c.result > 0 ? static_cast<std::uint32_t>(c.result) : 0;
  const bool all = f.done >= f.wanted.length;
  if (all || (c.result >= 0 && source_.ends_after(c.tag, f.done))) {
    free_tags_.push_back(c.tag);
    source_.complete({c.tag, f.done, f.submit_ns, now});
    return {};
  }
  if (c.result > 0) {
    ++counts_.short_reads;
    // Only whole granules count as read, so that the rest is aligned again.
    f.done = static_cast<std::uint32_t>(align_down(f.done, settings_.align));
    f.stalls = f.done > before ? 0 : f.stalls;
    return resubmit(c, now);
  }
  fail(c.tag, -c.result, now);
  return {};
}

// A direct read that ends inside a granule at the same place each time has met the file's end.
Result<> ReadLoop::resubmit(const Completion& c, std::int64_t now) {
  Flight& f = flights_[c.tag];
  f.stalls += c.result > 0 ? kShortStall : 1;
  if (f.stalls <= kMostStalls) {
    return queue(c.tag);
  }
  fail(c.tag, c.result > 0 ? 0 : -c.result, now);
  return {};
}

void ReadLoop::fail(std::uint32_t tag, int error, std::int64_t now) {
  free_tags_.push_back(tag);
  ++counts_.io_errors;
  source_.fail(tag, error, now);
}

}  // namespace blksweep
