// What a set of runs says about its cells: medians, intervals, ratios. Used by `run` and `report`;
// figures draw the same numbers (cells.csv), so that there is one implementation.
//
// Counted:  of each cell and repeat the newest complete run; others are left out and counted.
// Disks:    baseline, ratios and ceilings stay within a disk.
// Ratio:    paired with the baseline by repeat number (stats/bootstrap.h), in samples per second.
// Unknown:  std::nullopt, when no counted run has the value.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "stats/bootstrap.h"
#include "store/labels.h"
#include "store/records.h"
#include "store/result_reader.h"
#include "store/twin_summary.h"

namespace blksweep {

struct CellSummary {
  std::int64_t cell_id = 0;
  std::string label;
  CellRecord cell;
  bool baseline = false;
  std::size_t runs = 0;                         // counted
  std::size_t incomplete = 0;                   // left out
  std::vector<std::string> incomplete_reasons;  // different ones
  // The rest is over counted runs; nothing is known when there are none.
  Maybe<Estimate> samples_per_s, bytes_per_s;
  Maybe<Estimate> ratio;  // to the baseline; of the baseline itself: none
  std::size_t pairs = 0;
  Maybe<Estimate> fio_ratio;
  TwinSummary twins;
  Maybe<double> ceiling_share;  // median bytes/s over the median sequential ceiling
  // Medians.
  Maybe<double> first_batch_ns, depth_mean, requests_issued, device_bytes_per_byte,
      cpu_ns_per_sample;
  Maybe<double> utilisation, resident_before;
  Maybe<double> device_fallbacks;  // only where the cell reads, or was to read, through the device
  // Of the account (docs/account.md), over wall; unknown without a consumer or copy stage.
  Maybe<double> exposed_copy, ideal_share;
  Maybe<double> copy_cpu_ns_per_part;    // CPU time of the copy thread per sample that it was given
  std::map<std::string, double> stalls;  // of the last lane, by cause; medians of those above 0
  std::string stalled_lane;
  Maybe<double> prediction_epoch_ns, prediction_error;  // of the run's newest prediction
  QualityRecord quality;

  // Nothing can be said about a difference from fewer than two pairs.
  bool differs() const { return ratio && ratio->interval && !ratio->interval->contains(1.0); }
};

struct SummaryInput {
  std::vector<StoredCell> cells;
  std::vector<StoredRun> runs;
  // By disk: what the cells' first setting "disk" says, "" when there is one disk.
  std::map<std::string, std::vector<CeilingRecord>> ceilings;
  // The first cell of each disk that matches; none given: order=random merge=none, else the first.
  CellFilter baseline;
};

// One per cell, in the order of `cells`.
std::vector<CellSummary> summarize(const SummaryInput& input);

// The newest complete run of each repeat of a cell, by repeat.
std::vector<const StoredRun*> counted_runs(const std::vector<StoredRun>& runs, std::int64_t cell);

// For the terminal: one row per cell, then notes (what was left out, what the intervals can bear).
std::string summary_text(const std::vector<CellSummary>& cells);

}  // namespace blksweep
