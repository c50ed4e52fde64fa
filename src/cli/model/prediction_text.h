// What `simulate` has to do and what it prints: values and text, no simulation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "experiment/cell.h"
#include "simulate/predict_run.h"
#include "store/export/json.h"
#include "store/result_reader.h"

namespace blksweep {

// One cell with one seed: a prediction to make, maybe beside a stored run.
struct SimulationJob {
  std::size_t cell;
  std::uint32_t repeat;
  std::uint64_t seed;
  Maybe<StoredRun> run;
  std::uint32_t max_request;  // of the disk
  double speedup;
};

struct SimulationWork {
  std::vector<CellSettings> cells;
  std::vector<CellRecord> records;
  std::vector<std::string> labels;
  std::vector<SimulationJob> jobs;
  std::vector<std::string> notes;
};

struct SimulatedRun {
  SimulationJob job;
  Prediction prediction;
  QualityRecord quality;  // planned, and so delivered when nothing fails
};

struct SimulationAnswer {
  std::vector<SimulatedRun> rows;
  std::vector<std::string> notes;
};

struct SimulationFacts {
  const std::string& catalog;
  const PredictSettings& how;
};

// docs/simulate.md has the keys.
Json simulation_json(const SimulationAnswer& answer, const SimulationWork& work,
                     const SimulationFacts& facts);
// One row per cell: medians over its seeds or runs, the ratio to the first cell; then the notes.
std::string simulation_text(const SimulationAnswer& answer, const SimulationWork& work);

}  // namespace blksweep
