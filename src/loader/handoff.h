// Handoff: where the reader and the stages behind it meet: counters, and what happened when.
//
// ready      batches 0 .. ready-1 are complete in the window (written by the reader).
// decoded    ... lie decoded in the ring (by the decode thread; 0 without one).
// copied     ... are where the consumer wants them (by the copy thread; 0 without one).
// launched   ... are queued on the consumer, behind their arrival (by the copy thread, or by a
//            launching thread of its own; 0 without a consumer).
// released   what copying took for them alone is given back, where that is due at arrival (by the
//            copy thread).
// consumed   batches 0 .. consumed-1 have left the window for good (written by the delivery side);
//            gates of the schedule compare with it.
// times      by batch; a stage is written by the thread that carries it out, before its counter
//            says so.
// Threads:   one writer per counter, any number of waiters. request_stop() wakes everybody, and
//            every wait then returns false.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/batch_times.h"
#include "os/futex.h"

namespace blksweep {

class Counter {
 public:
  std::uint32_t value() const { return value_.load(std::memory_order_acquire) & ~kStop; }
  bool stopped() const { return (value_.load(std::memory_order_acquire) & kStop) != 0; }

  void publish(std::uint32_t n) {
    // Keeps a stop bit that somebody set meanwhile.
    std::uint32_t old = value_.load(std::memory_order_relaxed);
    while (!value_.compare_exchange_weak(old, n | (old & kStop))) {
    }
    wake();
  }

  void stop() {
    value_.fetch_or(kStop);
    wake();
  }

  // Returns true once value() >= n, false when stopped before that.
  bool wait_for(std::uint32_t n) const {
    settles(n, std::nullopt);
    return value() >= n;
  }

  // Waits until value() >= n or the stop, no longer than `most`; whether one of the two is there.
  bool settles(std::uint32_t n, std::optional<std::chrono::nanoseconds> most) const;

 private:
  bool settled(std::uint32_t now, std::uint32_t n) const {
    return (now & ~kStop) >= n || (now & kStop) != 0;
  }
  // Who waits has said so before it looked at the value for the last time; both in one total order.
  void wake() {
    if (waiting_.load() > 0) {
      futex_wake_all(value_);
    }
  }

  static constexpr std::uint32_t kStop = 0x80000000;
  std::atomic<std::uint32_t> value_{0};
  mutable std::atomic<std::uint32_t> waiting_{0};
};

struct Handoff {
  Counter ready;
  Counter decoded;
  Counter copied;
  Counter launched;
  Counter released;
  Counter consumed;
  std::vector<BatchTimes> times;  // sized by Readiness

  void request_stop() {
    for (Counter* counter : {&ready, &decoded, &copied, &launched, &released, &consumed}) {
      counter->stop();
    }
  }
  bool stopping() const { return ready.stopped(); }
};

}  // namespace blksweep
