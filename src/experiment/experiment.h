// run_experiment: a set of cells with repeats, interleaved, stored run by run.
//
// Order:   round by round: all cells once, in the order that experiment/rounds.h draws. Repeat r of
//          every cell has the seed `seed + r`. Runs of one round and session are pairs.
// Rounds:  a number, or until intervals are narrow enough (experiment/repeats.h).
// Ceiling: measured once in each round that has a run left; where nothing is left to run, nothing
//          is measured.
// Controls: cells like the others; those of Control::ram read settings.ram, without probe.
// Crash:   a run is stored before the next begins; runs that the database has already (same
//          experiment) are not repeated.
// Errors:  the first error that makes a run impossible ends the experiment; what is stored stays.
//          A stage that fails makes its run incomplete, and the next one begins. Where the GPU does
//          not answer after that (a sticky error), runs that need one are left out; a later start
//          goes on with them.
// Stop:    the run in progress is stored as incomplete with what it delivered, if anything, and
//          measured again by a later start; everything before it is kept: Exit::interrupted.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "experiment/pair.h"
#include "experiment/peer/peer_run.h"
#include "experiment/repeats.h"
#include "simulate/predict_run.h"
#include "store/result_store.h"

namespace blksweep {

struct ExperimentCell {
  CellSettings settings;
  CellRecord record;                  // its words
  std::vector<std::string> warnings;  // of the cell, for each of its runs
};

struct ExperimentSettings {
  std::vector<ExperimentCell> cells;
  std::uint32_t repeats = 1;
  std::optional<PrecisionRule> precision = std::nullopt;  // instead of a number of repeats
  std::function<void(const RoundEvent&)> on_round = {};   // with `precision`, after each, and last
  std::uint64_t seed = 1;
  bool verify = false;
  bool check = true;  // what the device gave, sampled (loader/spot_check.h)
  TwinArms twins;
  PeerSettings peers;
  bool probe = true;
  bool probe_layers = false;  // ProbeSettings::layers, origins
  bool probe_cache = false;   // a CacheProbe beside it
  bool ceiling = false;
  bool controls = false;      // cells have them (docs/controls.md): the CPU is timed around runs
  std::optional<Source> ram;  // the copy that cells of Control::ram read
  std::string key;            // which sweep this is, for going on after a crash
  HostRecord host;
  CommandRecord command;
  std::optional<PredictSettings> predict;  // a model to simulate every run's plan on
  bool predict_all = true;                 // else only that of the control a/a
  Progress* progress = nullptr;
  StageMakers makers = {};
  bool checked = false;  // check_experiment() has passed: it plans each cell that shuffles
};

struct RunEvent {
  const ExperimentCell& cell;
  const RunRecord& run;
  std::size_t done, total;  // runs, this one included; with `precision` what is expected
  std::span<const std::uint32_t> emitted = {};  // sample numbers, in the order in which they came
  std::int64_t id = 0;                          // in the database; 0: there is none
};

// What run_experiment() refuses before it stores or measures anything.
Result<> check_experiment(const Source& source, const ExperimentSettings& settings);

Result<Exit> run_experiment(const Source& source, const ExperimentSettings& settings,
                            ResultStore* store, const std::function<void(const RunEvent&)>& on_run,
                            const std::atomic<bool>& stop);

}  // namespace blksweep
