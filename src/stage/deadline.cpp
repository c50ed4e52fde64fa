#include "stage/deadline.h"

#include <sys/prctl.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace blksweep {

// An absolute time, so that what comes before the wait makes it no longer; libstdc++'s steady clock
// is CLOCK_MONOTONIC.
Result<> sleep_until(std::int64_t deadline_ns, const std::stop_token& stop) {
  ::prctl(PR_SET_TIMERSLACK, 1UL);
  const std::chrono::steady_clock::time_point until{std::chrono::nanoseconds(deadline_ns)};
  std::mutex mutex;
  std::condition_variable_any woken;
  std::unique_lock lock(mutex);
  woken.wait_until(lock, stop, until, [] { return false; });
  return stop.stop_requested() ? Result<>(fail("stopped", Exit::interrupted)) : Result<>();
}

}  // namespace blksweep
