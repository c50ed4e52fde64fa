// WorkerReader: reads as the loaders of today do. Each of N workers takes whole batches in turn (w,
// w + N, ...), reads their samples with plain reads and goes on, until `prefetch` batches a worker
// wait to be consumed; batches are published in order, however they are completed.
//
// Beside the planned reader it tells what a policy does from what a programming language does: same
// plan of samples, same memory, same stages behind it.
//
// Scope:   sample: open, pread, close, decode; then the next one. batch: the files of the batch are
//          opened, all its reads are one submission to an io_uring of the worker's own, and when
//          all have come the files are closed and the samples decoded.
// Memory:  a slot of the arena for each batch in flight (plan/batch_slots.h).
// Times:   the read of a batch begins when its worker begins it and ends when the worker is
//          done with it; it is available when those before it are, too.
// Errors:  make() fails where a worker can have no ring, or RLIMIT_NOFILE leaves too few
//          descriptors; else as EpochReader.
// Threads: one a worker, from make() on; they wait for run() and end with it, or with the reader.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "loader/batch_source.h"
#include "loader/epoch_reader.h"
#include "loader/thread_role.h"

namespace blksweep {

struct WorkerInputs {
  const Catalog& catalog;
  const Plan& plan;  // with MergeSettings::whole and no shared parcels
  const Schedule& schedule;
  std::span<std::byte> arena;
  Handoff& handoff;
  std::uint32_t workers = 1;
  std::uint32_t slots = 1;  // batches in memory
  ReadScope scope = ReadScope::sample;
  Nanos decode_cpu{0};
  bool direct = false;
  std::uint32_t align = 1;  // granule of the rest of a short read
  PlaceThread place = {};
  std::function<void()> on_ready = nullptr;  // after batches were published, on the thread of run()
};

class WorkerReader final : public EpochReader {
 public:
  static Result<std::unique_ptr<WorkerReader>> make(const WorkerInputs& in);
  ~WorkerReader() override;
  WorkerReader(const WorkerReader&) = delete;
  WorkerReader& operator=(const WorkerReader&) = delete;

  Result<> run(const std::atomic<bool>& stop) override;

  const Readiness& readiness() const override { return readiness_; }
  const ReadCounts& counts() const override { return counts_; }
  const LogHistogram& latency() const override { return latency_; }
  const std::vector<MemoryWait>& waits() const override { return waits_; }
  const EngineFacts& engine() const override { return facts_; }

 private:
  class Worker;
  struct ReadBatch {  // what its worker says of a batch
    TimeSpan span;
    std::vector<FailedRead> failures;
  };

  WorkerReader(const WorkerInputs& in, DataFiles data);
  Result<> start();
  void settle(std::uint32_t batch);
  void collect();

  const WorkerInputs in_;
  const DataFiles data_;
  const std::vector<std::uint32_t> reads_;  // by batch, as reads_by_batch()
  Readiness readiness_;
  std::vector<ReadBatch> batches_;
  ReadCounts counts_;
  LogHistogram latency_;
  std::vector<MemoryWait> waits_;
  EngineFacts facts_;
  std::vector<std::unique_ptr<Worker>> workers_;  // their threads use what is above
};

}  // namespace blksweep
