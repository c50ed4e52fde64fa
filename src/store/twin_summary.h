// What the runs of a cell and their fio twins say about each other, beside the ratio: how many
// requests each side made of the same reads, and so what of a ratio is merging.
//
// Values are medians over runs that have them; unknown when there is none.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "store/records.h"
#include "store/result_reader.h"

namespace blksweep {

struct TwinSummary {
  Maybe<double> ratio, plain_ratio;  // ours / fio, grouped and plain
  // At the device, of runs with a twin of that kind that was counted, too.
  Maybe<double> requests, twin_requests;  // ours beside the grouped twin, and its own
  Maybe<double> requests_beside_plain, plain_requests;
  std::vector<std::string> no_ratio;      // different reasons
  std::vector<std::string> not_the_same;  // why requests differ; different reasons

  // The sides' requests are within 2 % of each other.
  bool same_requests() const;
};

TwinSummary twin_summary(std::span<const StoredRun* const> runs);

// "441 / 444"; "-" when unknown.
std::string requests_text(const TwinSummary& twins);

// What of the ratios is merging, and why some are none; a line each, or nothing.
std::string twin_notes(const std::string& label, const TwinSummary& twins);

}  // namespace blksweep
