// fit_map: from a latency map to the model that `simulate` and `disk start` take.
//
// A disk (a rotation was found) becomes a rotating model, anything else a flash or remote one,
// whichever answers more like the measurement when it is simulated. What cannot be measured from
// outside takes a usual value and is named in `notes`.
//
// Errors:  failed, with what is missing and how to get it: parts that were not measured, too few
//          reads, a rotation without cached reads.
// Threads: pure; simulates some thousand requests per candidate (well under a second).
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/latency_map.h"
#include "model/map_facts.h"
#include "model/model_spec.h"

namespace blksweep {

struct FitCheck {
  std::string what;                // "4 KiB at depth 8, reads/s"
  double measured = 0, model = 0;  // the same unit, as `what` says
};

struct MapFit {
  ModelSpec spec;
  std::vector<FitCheck> checks;
  double error = 0;  // root mean square of ln(model / measured) over the checks
  std::vector<std::string> notes;
};

// More than this many times too much or too little in one check: the device is none of the models.
inline constexpr double kPoorFit = 1.5;

// The check that is furthest off, and how many times (>= 1; infinite where one side is nothing).
struct WorstCheck {
  std::string what;  // empty: there was no check
  double times_off = 1;
  bool poor() const { return times_off > kPoorFit; }
};
WorstCheck worst_check(const MapFit& fit);

Result<MapFit> fit_map(const LatencyMap& map, const MapFacts& facts);

}  // namespace blksweep
