// What is read in several steps is of one moment only where nothing happened between them.
//
// Shapes:  `read(off)` gives a Result and sets how far off it may be for what happened meanwhile.
//          Returned is the first that is off by `enough` at most, else the best of kMomentTries.
// Errors:  the first one of read().
// Threads: the caller's.
#pragma once

#include <cstdint>
#include <utility>

namespace blksweep {

inline constexpr int kMomentTries = 4;

template <class Read>
auto of_one_moment(const Read& read, std::int64_t enough) {
  std::int64_t least = 0;
  auto best = read(least);
  for (int i = 1; i < kMomentTries && best && least > enough; ++i) {
    std::int64_t off = 0;
    if (auto next = read(off); !next || off < least) {
      best = std::move(next);
      least = off;
    }
  }
  return best;
}

}  // namespace blksweep
