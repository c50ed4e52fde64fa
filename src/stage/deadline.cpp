#include "stage/deadline.h"

#include <sys/prctl.h>
#include <time.h>

#include <cerrno>

namespace blksweep {

void sleep_until(std::int64_t deadline_ns) {
  ::prctl(PR_SET_TIMERSLACK, 1UL);
  const timespec until{deadline_ns / 1'000'000'000, deadline_ns % 1'000'000'000};
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

}  // namespace blksweep
