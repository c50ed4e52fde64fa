// Exchanges: carries out those of a reservoir in place (plan/in_place.h): afterwards the samples of
// a batch lie where the schedule says (Schedule::place_of).
//
// Lifetime: borrows everything. Threads: that of the one who has a batch first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "plan/schedule.h"

namespace blksweep {

class Exchanges {
 public:
  Exchanges(const Plan& plan, const Schedule& schedule, std::span<std::byte> arena)
      : plan_(plan), schedule_(schedule), arena_(arena) {}

  // Of a batch that is ready; of each, in ascending order, before anybody looks at it.
  void make(std::uint32_t batch);

 private:
  const Plan& plan_;
  const Schedule& schedule_;
  const std::span<std::byte> arena_;
  std::size_t made_ = 0;
};

}  // namespace blksweep
