// The parts of a batch: its samples that could be read, in order of emission. What a stage is given
// has no place for the others.
//
// Shapes:  `failed`: by position, not zero where it could not be read (readiness.h).
// Threads: pure; of batches that were published.
#pragma once

#include <cstdint>
#include <span>

#include "plan/schedule.h"

namespace blksweep {

// Calls `to` with the place of each in the emission.
template <class To>
void each_part(const Schedule& schedule, std::span<const std::uint8_t> failed, std::uint32_t batch,
               To&& to) {
  for (std::uint32_t i = schedule.batch_begin[batch]; i < schedule.batch_begin[batch + 1]; ++i) {
    if (failed[schedule.emission[i]] == 0) {
      to(i);
    }
  }
}

// The position of the part of that number. REQUIRES: the batch has so many.
inline std::uint32_t position_of_part(const Schedule& schedule,
                                      std::span<const std::uint8_t> failed, std::uint32_t batch,
                                      std::uint32_t part) {
  std::uint32_t number = 0, position = 0;
  each_part(schedule, failed, batch, [&](std::uint32_t i) {
    position = number++ == part ? schedule.emission[i] : position;
  });
  return position;
}

}  // namespace blksweep
