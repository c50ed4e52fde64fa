// What a set of runs says about its cells: medians, ratios, verdicts. Used by `run` and `report`;
// figures draw the same numbers (cells.csv), so that there is one implementation.
//
// Counted:  of each cell and repeat the newest complete run; others are left out and counted.
// Disks:    baseline, ratios and ceilings stay within a disk.
// Pairs:    a run and one of the baseline of the same round (repeat number) and session; a round
//           that was cut off and went on in another session has none across them.
// Ratio:    of samples per second, over pairs; interval and verdict as stats/paired.h has them, the
//           comparisons with one baseline being a family.
// Level:    median and range of the repeats of one cell. It has no interval: repeats that follow
//           each other are alike, and no such interval would cover what it says
//           (docs/statistics.md).
// Unknown:  std::nullopt, when no counted run has the value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stats/order_survival.h"
#include "stats/paired.h"
#include "store/records.h"
#include "store/result_reader.h"
#include "store/summary/labels.h"
#include "store/summary/twin_summary.h"

namespace blksweep {

struct Level {
  double median = 0, least = 0, greatest = 0;
};

struct CellSummary {
  std::int64_t cell_id = 0;
  std::string label;
  CellRecord cell;
  bool baseline = false;
  std::size_t runs = 0;                         // counted
  std::size_t incomplete = 0;                   // left out
  std::vector<std::string> incomplete_reasons;  // different ones
  // The rest is over counted runs; nothing is known when there are none.
  Maybe<Level> samples_per_s, bytes_per_s;
  Maybe<PairedRatio> ratio;  // to the baseline; of the baseline itself: none
  std::string ratio_to;      // the baseline's label; empty: there is no ratio
  PairedVerdict verdict;
  std::size_t split = 0;  // rounds whose runs are of different sessions than the baseline's
  TwinSummary twins;
  // Median bytes/s over the median sequential ceiling; none where the page cache gave a part.
  Maybe<double> ceiling_share;
  std::string peer_reads;     // of a peer: "files", "own form"
  Maybe<double> decode_wait;  // of a peer that decodes, median
  // Medians.
  Maybe<double> first_batch_ns, depth_mean, requests_issued, read_amplification, cpu_ns_per_sample;
  Maybe<double> utilisation, resident_before;
  Maybe<double> device_fallbacks;  // only where the cell reads, or was to read, through the device
  // Of the account (docs/account.md), over wall; unknown without a consumer or copy stage.
  Maybe<double> exposed_copy, ideal_share;
  // Of the accelerator's own clock (stats/overlap.h): the share of transfer time behind kernels,
  // and of the epoch that only transfers took; bytes over transfer time; how long no kernel ran in
  // front of one whose data were there.
  Maybe<Level> hidden_transfer, exposed_transfer, transfer_rate, fed_gap_ns;
  Maybe<double> copy_cpu_ns_per_part;    // CPU time of the copy thread per sample that it was given
  std::map<std::string, double> stalls;  // of the last lane, by cause; medians of those above 0
  Maybe<double> stalled;                 // for all causes together: not the sum of their medians
  std::string stalled_lane;
  Maybe<double> prediction_epoch_ns, prediction_error;  // of the runs' newest; of one model
  std::vector<std::string> mixed;  // what is not the same in all of its runs, in a line each
  QualityRecord quality;
  std::vector<std::pair<std::string, OrderSurvival>> order;  // by layer, without places; medians
  // Of all that the disk read: the share of each class (request_class), medians; empty: not known.
  std::vector<std::pair<std::string, double>> read_for;
  std::string page_cache;  // what became of its pages, in a line; empty: nobody looked

  bool differs() const { return verdict.differs(); }
};

struct SummaryInput {
  std::vector<StoredCell> cells;
  std::vector<StoredRun> runs;
  // By disk: what the cells' first setting "disk" says, "" when there is one disk.
  std::map<std::string, std::vector<CeilingRecord>> ceilings;
  // The first cell of each disk that matches; none given: order=random merge=none, else the first.
  CellFilter baseline;
  Maybe<double> margin;  // 0.03: "equal" where a ratio is shown to be within 3 %
  // By disk, as ceilings: where rounds went on until intervals were narrow (stats/precision.h).
  std::map<std::string, StoppingRecord> stopping = {};
  std::map<std::string, HostRecord> hosts = {};  // by disk, as ceilings
  CellFilter shown = {};  // of several that could be the baseline, one of these is
};

// One per cell that is no control (store/summary/rig_verdict.h), in the order of `cells`.
std::vector<CellSummary> summarize(const SummaryInput& input);

// What is compared with where nobody named a baseline.
CellFilter usual_baseline();

// The baseline among the cells of each disk, by its place.
std::map<std::string, std::size_t> baselines_of(const SummaryInput& input);

// The newest complete run of each repeat of a cell, by repeat.
std::vector<const StoredRun*> counted_runs(const std::vector<StoredRun>& runs, std::int64_t cell);

// For the terminal: one row per cell, then notes (what was left out, what the intervals can bear).
std::string summary_text(const std::vector<CellSummary>& cells);
// The known numbers of a cell by name, in the texts of that table (docs/paper.md lists them).
using SummaryTexts = std::vector<std::pair<std::string, std::string>>;
SummaryTexts summary_numbers(const CellSummary& cell);
// A line for each column of that table: what it means.
std::string columns_text(const std::vector<CellSummary>& cells);

}  // namespace blksweep
