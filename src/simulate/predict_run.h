// A prediction as a run can have one: a fresh model for a planned epoch, and what is stored of it.
//
// Errors:  as predict(); Exit::usage for workers, which are not modelled. Threads: pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "loader/source.h"
#include "model/model_spec.h"
#include "simulate/simulate_epoch.h"

namespace blksweep {

struct PredictSettings {
  ModelSpec model;
  Bytes size{0};  // of the whole disk
  std::uint32_t max_request = 1U << 20;
  double speedup = 1;
  Nanos host_cost{0};
};

struct PredictRequest {
  const PredictSettings& how;
  std::uint64_t seed = 1;  // of the run: compute times, jitter of the model
};

Result<Prediction> predict_run(const Source& source, const LoaderSettings& settings,
                               const PlannedEpoch& planned, const PredictRequest& request);

PredictionRecord prediction_record(const Prediction& p, const ModelSpec& model,
                                   std::int64_t measured_epoch_ns);

// XXH3-64 of the model's text, hex: the same name may have had other numbers.
std::string model_hash(const ModelSpec& model);

// How the runs of a source are predicted on a model: its disk's size and longest request.
PredictSettings predict_settings(const Source& source, const ModelSpec& model);

// Of the emulated disk that stored runs were on, or that theirs stood on; 1: of none.
double stored_speedup(const std::vector<LayerFactRecord>& layers);

// What the settings of a disk's queue say; nothing where they tell none, or one above 1 GiB.
std::optional<std::uint32_t> longest_request(
    const std::vector<std::pair<std::string, std::string>>& queue);

// Of the whole disk that the data is on; where that is unknown or another one now, the end of the
// catalog's last extent.
Bytes disk_size(const Source& source);

// Median and 99th percentile of request latencies, ns; unknown without requests.
std::pair<Maybe<std::uint64_t>, Maybe<std::uint64_t>> latency_percentiles(const Prediction& p);

}  // namespace blksweep
