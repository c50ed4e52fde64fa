#include "loader/most_held.h"

#include <algorithm>
#include <vector>

#include "plan/schedule_gates.h"

namespace blksweep {
std::uint32_t most_held_batches(const Plan& plan, const Schedule& schedule) {
  auto least = static_cast<std::uint32_t>(std::max<std::size_t>(1, schedule.batches()));
  std::uint32_t needed = 0;  // of this batch and all before it: they are taken in order
  std::uint32_t b = 0;
  std::size_t gate = 0;
  for (const std::uint32_t reads : reads_awaited(plan, schedule)) {
    const std::uint32_t read = reads - std::min(reads, 1U);  // the last of them
    while (gate < schedule.gates.size() && schedule.gates[gate].read <= read) {
      needed = schedule.gates[gate++].consumed_batches;
    }
    if (needed > 0) {
      least = std::min(least, b - std::min(b, needed) + 1);
    }
    ++b;
  }
  return least;
}

}  // namespace blksweep
