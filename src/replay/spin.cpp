#include "replay/spin.h"

#include <algorithm>

#include "base/clock.h"

namespace blksweep {

Result<> SpinEngine::submit(std::span<const ReadRequest> batch) {
  poll_ = now_ns();
  for (const ReadRequest& request : batch) {
    const std::int64_t before = poll_;
    BLKSWEEP_CHECK(inner_.submit({&request, 1}));
    BLKSWEEP_TRY([[maybe_unused]] const std::size_t none, inner_.reap({}, 0, 0));
    ++in_flight_;
    poll_ = now_ns();
    handed_over_(request, poll_ - before > kHandOver ? poll_ : before);
  }
  return {};
}

Result<std::size_t> SpinEngine::poll(std::span<Completion> out, std::int64_t now) {
  const std::size_t before = in_flight_;
  BLKSWEEP_TRY(const std::size_t n, inner_.reap(out, 0, 0));
  in_flight_ -= n;
  const bool stood_still = now - poll_ > kStall;
  if (stood_still && n > 0) {
    const double unseen = static_cast<double>(n) / static_cast<double>(before);
    stalled_ += static_cast<std::int64_t>(static_cast<double>(now - poll_) * unseen);
  }
  room_since_ = stood_still && in_flight_ > 0 ? now : poll_;
  poll_ = now;
  return n;
}

Result<std::size_t> SpinEngine::reap(std::span<Completion> out, std::size_t /*wait_for*/,
                                     std::int64_t until) {
  for (;;) {
    const std::int64_t now = now_ns();
    if (sleeps_ == Sleeps::until_due && until != kForever && until - now > spin_) {
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
