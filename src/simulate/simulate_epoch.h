// predict: how long an epoch would take on a modelled disk, without any I/O (docs/simulate.md).
//
// The reader of a run (loader/plan_source.h on io/read_loop.h) with a modelled disk as its engine
// and virtual time; below it the block layer (sim_queue.h). Batches become ready in order; copying
// takes no time; the emulated consumer takes its own.
//
// Not modelled: the page cache, opening of files (metadata reads), decoding and copying, what a
// cell asks of the node, CPU time but `host_cost` (experiment/prediction_notes.h names them).
// Errors:  Exit::usage for buffered file reads and for a device that is smaller than an address;
//          Exit::failed when more than 1 % of the bytes have no known address.
// Threads: pure; deterministic in its inputs.
#pragma once

#include <cstdint>

#include "loader/planned_epoch.h"
#include "simulate/sim_queue.h"
#include "store/records.h"

namespace blksweep {

struct SimulationInputs {
  const Catalog& catalog;
  const PlannedEpoch& planned;
  const LoaderSettings& settings;
  std::uint64_t seed = 1;  // of compute times; the plan has its own
  DiskModel& model;
  SimDevice device;
};

struct Prediction {
  std::int64_t epoch_ns = 0;
  Maybe<std::int64_t> first_batch_ns;
  std::uint64_t samples = 0, bytes = 0;  // delivered
  std::uint64_t reads = 0, read_bytes = 0;
  std::uint64_t unknown_bytes = 0;  // of reads, without an address: they cost nothing here
  Maybe<double> utilisation;        // compute / epoch; unknown without a consumer
  SimCounts device;

  Maybe<double> depth_mean() const;  // requests inside, mean over time with I/O
};

Result<Prediction> predict(const SimulationInputs& in);

// The end of the last extent on the whole disk: no smaller device can hold the catalog.
Bytes least_device(const Catalog& catalog);

}  // namespace blksweep
