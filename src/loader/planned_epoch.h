// plan_epoch: the exact reads of one seed and where each byte lies in memory, before any I/O.
//
// Errors:  Exit::usage for more samples than a run can count; a window that does not hold what it
//          must, or a plan that memory does not, name the option that helps.
// Threads: pure, but for the clock and how much memory there is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "loader/settings.h"
#include "loader/source.h"
#include "plan/plan.h"
#include "plan/schedule.h"

namespace blksweep {

struct PlannedEpoch {
  Plan plan;
  Schedule schedule;
  std::int64_t plan_ns = 0;
  Bytes window{0};          // what the window came to
  std::uint32_t align = 1;  // granule of reads
  Bytes staging{0};         // behind the arena, where small pieces are staged (loader/scatter.h)
  // Of a part: emission index -> index in the emission of the whole, and that one's
  // emission_hash().
  std::vector<std::uint32_t> places = {};
  std::string whole_hash = {};
};

// What offsets and lengths of reads are multiples of; 1: any. How much a window holds depends on
// it.
std::uint32_t read_align(const Source& source, const LoaderSettings& settings);

// emission_hash() of the samples as they will be emitted, of all parts together.
std::string order_hash(const PlannedEpoch& planned);

// What the epoch is read into: the schedule's arena and, behind it, where small pieces are staged.
Bytes memory_of(const PlannedEpoch& planned);

// Order, merge and schedule for one seed; pure but for the clock.
Result<PlannedEpoch> plan_epoch(const Source& source, const LoaderSettings& settings,
                                std::uint64_t seed);

// Another depth for what was planned: in the settings, and in the memory that depends on it.
void set_depth(std::uint32_t depth, LoaderSettings& settings, PlannedEpoch& planned);

}  // namespace blksweep
