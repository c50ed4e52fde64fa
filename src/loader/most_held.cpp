#include "loader/most_held.h"

#include <algorithm>
#include <vector>

namespace blksweep {
namespace {

// The last read that a batch waits for, by number; 0 for a batch without bytes.
std::vector<std::uint32_t> last_reads(const Plan& plan, const Schedule& schedule) {
  std::vector<std::uint32_t> of_parcel(plan.parcel_bytes.size(), 0);
  for (std::uint32_t r = 0; r < plan.reads.size(); ++r) {
    for (std::uint32_t p = plan.first_piece[r]; p < plan.first_piece[r + 1]; ++p) {
      std::uint32_t& last = of_parcel[plan.pieces[p].parcel];
      last = std::max(last, r);
    }
  }
  std::vector<std::uint32_t> of_batch(schedule.batches(), 0);
  for (std::size_t b = 0; b < of_batch.size(); ++b) {
    for (std::uint32_t i = schedule.batch_begin[b]; i < schedule.batch_begin[b + 1]; ++i) {
      of_batch[b] = std::max(of_batch[b], of_parcel[plan.parcel_of(schedule.emission[i])]);
      if (const auto arrival = schedule.arrival_at(plan, i)) {
        of_batch[b] = std::max(of_batch[b], of_parcel[plan.parcel_of(*arrival)]);
      }
    }
  }
  return of_batch;
}

}  // namespace

std::uint32_t most_held_batches(const Plan& plan, const Schedule& schedule) {
  auto least = static_cast<std::uint32_t>(std::max<std::size_t>(1, schedule.batches()));
  std::uint32_t read = 0, needed = 0;  // of this batch and all before it: they are taken in order
  std::uint32_t b = 0;
  std::size_t gate = 0;
  for (const std::uint32_t last : last_reads(plan, schedule)) {
    read = std::max(read, last);
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
