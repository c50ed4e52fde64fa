// Ratios of runs of one round and session: what intervals are of, and what `--repeats auto` makes
// precise.
//
// Threads: pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "store/summary/summary.h"

namespace blksweep {

double speed_of(const StoredRun& run);  // samples per second
// Of those that delivered anything.
std::vector<double> speeds_of(const std::vector<const StoredRun*>& runs);

struct PairRatios {
  std::vector<double> ratios;  // of samples per second, by round
  std::size_t split = 0;       // rounds whose two runs are of different sessions: no pairs
};
PairRatios pair_ratios(const std::vector<const StoredRun*>& runs,
                       const std::vector<const StoredRun*>& baseline);

// Most that the logarithm of fio's time may be off by: the middle of a step of its clock stands for
// all of it. Infinite of the first step, in which fio may have taken no time at all; 0 of no time.
double clock_bias(const FioRecord& twin);

// Ratios to fio, or of two of its twins, and the most that each may be off by in its logarithm.
struct FioRatios {
  std::vector<double> values;
  double biases = 0;  // their sum
  void add(double ratio, double bias);
  void add(const FioRecord& twin);  // ours / fio, of one that has it
  double log_bias() const;          // of their mean logarithm; 0 of none
};

// What one interval is of.
struct Series {
  std::string name;       // "lba", "lba: ours / fio"
  bool compared = false;  // a cell with the baseline: one of the family of verdicts
  std::vector<double> values;
  std::string baseline = {};  // of a compared one
  double log_bias = 0;        // most that the mean logarithm may be off by (stats/paired.h)

  // "lba / random": a table of these runs may have another baseline.
  std::string ratio() const { return compared ? name + " / " + baseline : name; }
};

// Of the cells of one disk: of each but the baseline its ratios to that, of each with a fio twin
// its ratios to that. Of one cell alone without a twin its own samples per second: repeats that
// follow each other are alike, so this interval knows the noise of the session and no more.
std::vector<Series> series_of(const SummaryInput& input);

}  // namespace blksweep
