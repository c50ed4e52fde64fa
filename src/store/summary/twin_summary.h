// What the runs of a cell and their fio twins say about each other, beside the ratio: how many
// requests each side made of the same reads, and whether merging is shown to be a part of a ratio.
//
// Ratios are estimated as every other is (stats/paired.h: the geometric mean over rounds, with an
// interval from five of them); requests are medians. Unknown where no run has them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "stats/paired.h"
#include "store/records.h"
#include "store/result_reader.h"

namespace blksweep {

struct TwinSummary {
  Maybe<PairedRatio> ratio, plain_ratio;  // ours / fio, ours / plain fio
  PairedVerdict verdict;                  // of ratio (store/summary/verdicts.h)
  Maybe<PairedRatio> grouping;            // plain fio's time over fio's, of the same round
  // At the device, of runs with a twin of that kind that was counted, too.
  Maybe<double> requests, twin_requests;  // ours beside the grouped twin, and its own
  Maybe<double> requests_beside_plain, plain_requests;
  std::vector<std::string> no_ratio;      // different reasons
  std::vector<std::string> not_the_same;  // why requests differ; different reasons

  bool same_requests() const;    // ours and fio's, within 2 %
  bool plain_merges_as() const;  // plain fio's and fio's, within 2 %
};

TwinSummary twin_summary(std::span<const StoredRun* const> runs, double error_rate = kErrorRate);

// "441 / 444"; "-" when unknown.
std::string requests_text(const TwinSummary& twins);

// What of the ratios is shown to be merging, and why some are none; a line each, or nothing.
std::string twin_notes(const std::string& label, const TwinSummary& twins);

}  // namespace blksweep
