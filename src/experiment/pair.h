// measure_pair: a run of a cell and its fio twins, next to each other, in an order drawn by lot.
//
// Arms:    ours; *grouped*: fio with the same reads, submitted in the same groups from the same
//          kind of memory; *plain*: fio one read at a time, as a user of fio gets it by default.
// Order:   all orders of the arms are equally likely, drawn from the seed and `stream`; stored.
// State:   every arm gets the node anew (cgroup, queue settings, pins), and the caches in the state
//          that the cell asks for, each with its own proof.
// Ratio:   run.bytes over either side's time; none, with the reason, where the two did not do the
//          same work from the same start (docs/fio-twin.md).
// Errors:  as measure_run; a twin that cannot be had is a warning on the run.
// Stop:    as measure_run; a pair that was cut off between its arms has an incomplete run.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "experiment/fio_twin.h"
#include "experiment/measure.h"

namespace blksweep {

struct TwinArms {
  bool grouped = false, plain = false;
  bool any() const { return grouped || plain; }
};

struct PairRequest {
  const Source& source;
  const CellSettings& cell;
  const PlannedEpoch& planned;
  std::uint32_t repeat = 0;
  std::uint64_t seed = 1;
  std::uint64_t stream = 0;  // tells the cells of an experiment apart
  bool verify = false;
  bool check = true;                  // as in RunRequest
  AddressProof* addresses = nullptr;  // borrowed, after before()
  TwinArms arms;
  BlockProbe* probe = nullptr;
  CacheProbe* cache_probe = nullptr;
  Progress* progress = nullptr;
  const std::atomic<bool>& stop;
  const StageMakers& makers;
};

// How fio carries out the request's reads. Errors: Exit::unsupported where it cannot.
Result<FioSettings> twin_settings(const PairRequest& request, bool grouped);

Result<MeasuredRun> measure_pair(const PairRequest& request);

// Why the times of a run and its twin say nothing about each other; "" when they do.
std::string no_ratio_because(const PairRequest& request, const RunRecord& run,
                             const FioRecord& fio);

// Why both sides had different numbers of requests at the device; "" when they had not.
std::string requests_differ_because(const PairRequest& request, const RunRecord& run,
                                    const FioRecord& fio);

}  // namespace blksweep
