#include "loader/handoff.h"

#include <thread>

namespace blksweep {
namespace {

constexpr int kLooks = 8;  // what comes at once is not slept for

}  // namespace

bool Counter::settles(std::uint32_t n, std::optional<std::chrono::nanoseconds> most) const {
  using Steady = std::chrono::steady_clock;
  for (int look = 0; look < kLooks; ++look) {
    if (settled(value_.load(std::memory_order_acquire), n)) {
      return true;
    }
    std::this_thread::yield();
  }
  const Steady::time_point end = Steady::now() + most.value_or(std::chrono::nanoseconds{0});
  waiting_.fetch_add(1);
  std::uint32_t now = value_.load();
  while (!settled(now, n)) {
    const auto left = most ? std::optional(end - Steady::now()) : std::nullopt;
    if (left && left->count() <= 0) {
      break;
    }
    futex_wait(value_, now, left);
    now = value_.load();
  }
  waiting_.fetch_sub(1);
  return settled(now, n);
}

}  // namespace blksweep
