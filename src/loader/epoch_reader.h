// EpochReader: fills the window with batches and publishes them, in order, to the Handoff.
//
// There are two: the planned reader (reader.h) keeps many reads of a plan in flight; workers
// (worker_reader.h) read as the loaders of today do. All behind them is the same.
//
// Errors:  run() gives an Error when the engine is broken; reads that fail are in readiness().
// Stop:    run() returns early, with nothing in flight, once `stop` is set or the handoff stopped.
// Threads: run() on the thread of the epoch, which also calls back when batches are ready; the
//          rest before or after run().
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/batch_times.h"
#include "io/read_loop.h"
#include "loader/readiness.h"
#include "stats/histogram.h"

namespace blksweep {

class EpochReader {
 public:
  virtual ~EpochReader() = default;
  virtual Result<> run(const std::atomic<bool>& stop) = 0;

  virtual const Readiness& readiness() const = 0;
  virtual const ReadCounts& counts() const = 0;
  virtual const LogHistogram& latency() const = 0;  // of single reads
  // When nothing was in flight because memory was not given back.
  virtual const std::vector<MemoryWait>& waits() const = 0;
  virtual std::uint64_t staged_reads() const { return 0; }  // copied to their places (scatter.h)
  virtual const EngineFacts& engine() const = 0;
  // The first read of each submission, ascending; none: there is no one order of reads.
  virtual std::vector<std::uint32_t> submissions() const { return {}; }
};

}  // namespace blksweep
