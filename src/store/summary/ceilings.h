// Ceilings of a disk, put together: one figure for each pattern over all rounds.
//
// Of the depths that a pattern was measured at, the one with the greatest median counts: the depth
// of a ceiling must not be what bounds it.
//
// A share of the ceiling is a share of the median. The greatest of all rounds would grow with their
// number and with every cache that answered once; least and greatest are shown as the spread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "store/records.h"

namespace blksweep {

struct CeilingFigure {
  std::string kind;  // "sequential", "random"
  std::uint64_t request_bytes = 0;
  std::uint32_t depth = 0;
  std::size_t rounds = 0;
  double median = 0, least = 0, greatest = 0;  // bytes per second, of the device
  double reads_per_s = 0;                      // median
  Maybe<double> samples_per_byte;              // the same in every round; else not known
};

// One for each kind, sequential first.
std::vector<CeilingFigure> ceiling_figures(const std::vector<CeilingRecord>& ceilings);
// The rate at which samples would be delivered if the device gave the median of the sequential
// figures, bytes per second: files with holes come faster than that, blocks that are not full
// slower.
Maybe<double> sequential_ceiling(const std::vector<CeilingRecord>& ceilings);

// A line for each disk and kind: "ceiling, sequential: 1234 MiB/s (1200..1300 in 5 rounds)".
std::string ceilings_text(const std::map<std::string, std::vector<CeilingRecord>>& by_disk);

}  // namespace blksweep
