#include "replay/spin.h"

#include <sched.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"

namespace blksweep {

Result<> SpinEngine::submit(std::span<const ReadRequest> batch) {
  poll_ = now_ns();
  for (const ReadRequest& request : batch) {
    const std::int64_t before = poll_;
    BLKSWEEP_CHECK(inner_.submit({&request, 1}));
    BLKSWEEP_TRY([[maybe_unused]] const std::size_t none, inner_.reap({}, 0, 0));
    const std::size_t others = in_flight_++;
    woke_ = true;
    poll_ = now_ns();
    handed_over_(request, {poll_ - before > kHandOver ? poll_ : before, before});
    BLKSWEEP_CHECK(count_stall(poll_ - before, others));
    room_since_ = seen_.empty() ? room_since_ : poll_;
  }
  return {};
}

// A ring gives no more than some at once, however many there are (Linux 6.13: 20).
Result<std::size_t> SpinEngine::take_all() {
  const std::size_t before = in_flight_;
  took_.resize(in_flight_);
  for (std::size_t n = 1; n > 0 && in_flight_ > 0; in_flight_ -= n) {
    BLKSWEEP_TRY(n, inner_.reap(std::span(took_).first(in_flight_), 0, 0));
    for (const Completion& c : std::span(took_).first(n)) {
      seen_.push(c);
    }
  }
  return before - in_flight_;
}

// Nothing where so many had not been in flight, or it was no stall.
Result<> SpinEngine::count_stall(std::int64_t still, std::size_t before) {
  if (still <= kStall || before == 0) {
    return {};
  }
  BLKSWEEP_TRY(const std::size_t n, take_all());
  const double unseen = static_cast<double>(std::min(n, before)) / static_cast<double>(before);
  stalled_ += static_cast<std::int64_t>(static_cast<double>(still) * unseen);
  return {};
}

// As a poll: what ended while another had the CPU is seen late.
Result<> SpinEngine::let_go() {
  room_since_ = now_ns();
  ::sched_yield();
  poll_ = now_ns();
  return count_stall(poll_ - room_since_, in_flight_);
}

std::size_t SpinEngine::hand_out(std::span<Completion> out) {
  std::size_t n = 0;
  while (n < out.size() && !seen_.empty()) {
    out[n++] = seen_.pop();
  }
  return n;
}

Result<std::size_t> SpinEngine::poll(std::span<Completion> out, std::int64_t now) {
  const bool stood_still = now - poll_ > kStall;
  const bool waiting = !seen_.empty();
  BLKSWEEP_CHECK(count_stall(now - poll_, in_flight_));
  std::size_t n = hand_out(out);
  if (n == 0) {
    BLKSWEEP_TRY(n, inner_.reap(out, 0, 0));
    in_flight_ -= n;
  }
  if (!waiting) {  // else there is room since what came with it
    room_since_ = stood_still && in_flight_ > 0 ? now : poll_;
  }
  poll_ = now;
  return n;
}

Result<std::size_t> SpinEngine::reap(std::span<Completion> out, std::size_t /*wait_for*/,
                                     std::int64_t until) {
  for (;;) {
    const std::int64_t now = now_ns();
    if (seen_.empty() && sleeps_ == Sleeps::until_due && until != kForever && until - now > spin_) {
      if (std::exchange(woke_, false)) {
        BLKSWEEP_CHECK(let_go());
        continue;
      }
      BLKSWEEP_TRY(const std::size_t n, inner_.reap(out, 1, until - spin_));
      in_flight_ -= n;
      room_since_ = now;
      poll_ = std::max(now, std::min(now_ns(), until - spin_));
      if (n > 0) {
        return n;
      }
      continue;
    }
    BLKSWEEP_TRY(const std::size_t n, poll(out, now));
    if (n > 0 || now >= until) {
      return n;
    }
  }
}

std::int64_t SpinClock::now() { return now_ns(); }

void SpinClock::wait_until(std::int64_t when) {
  if (when - now_ns() > spin_) {
    host_clock().wait_until(when - spin_);
    return;
  }
  while (now_ns() < when) {
  }
}

}  // namespace blksweep
