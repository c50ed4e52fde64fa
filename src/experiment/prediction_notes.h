// The prediction of a run (simulate/simulate_epoch.h), and what its cell has and that has not, in
// words.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "experiment/cell.h"
#include "plan/plan.h"
#include "simulate/predict_run.h"
#include "store/records.h"

namespace blksweep {

// Empty when nothing matters. Threads: pure.
std::vector<std::string> prediction_notes(const CellSettings& cell, const Plan& plan);

// What the model's file says of itself that a prediction of the cell should say, too: a fit that is
// far off, and more in flight than it was fitted to.
std::vector<std::string> model_notes(const ModelSpec& model, const CellSettings& cell);

// What the disk's queue is (os/block/blockdev.h queue_settings) and the prediction has not, unless
// the cell asks for another one.
std::vector<std::string> queue_notes(const std::vector<std::pair<std::string, std::string>>& queue,
                                     const CellSettings& cell);

// Of a rotating model, where the disk is no emulated one, but stands on one: where on that the
// bytes lie, and how far seeks are there, is not in a prediction. Asks /sys.
std::vector<std::string> place_notes(const ModelSpec& model, const std::string& disk);

// Where the probe saw clearly another number of requests, of which the epoch was then; else empty.
std::string requests_note(const PredictionRecord& prediction, const ProbeRecord& seen);

struct PredictedCell {
  const Source& source;
  const CellSettings& cell;
  const PlannedEpoch& planned;
};
// Into the record, with its notes as warnings; or why there is none. Threads: the caller's.
void add_prediction(RunRecord& run, const PredictSettings& settings, const PredictedCell& of);

}  // namespace blksweep
