// Reader: carries a plan out. The hot path of every run.
//
// Takes reads in plan order, waits at the schedule's gates, keeps up to `depth` of them in flight,
// puts every byte at its planned place in the arena, and publishes batches as they become complete.
// Nothing is allocated per read or per sample once run() has started.
//
// Errors:    a read that fails is retried piece by piece, so that one bad sector costs one sample;
//            what stays unreadable is in readiness().failures(). A Result error means that the run
//            cannot go on at all.
// Short reads are resubmitted for the rest; the end of a file is no short read. A read that brings
// nothing again and again fails.
// Stop:      run() returns early, with nothing in flight, once `stop` is set.
// Threads:   run() on the thread that made the engine.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/result.h"
#include "io/engine.h"
#include "loader/file_slots.h"
#include "loader/handoff.h"
#include "loader/readiness.h"
#include "loader/scatter.h"
#include "plan/schedule.h"
#include "stats/account.h"
#include "stats/histogram.h"

namespace blksweep {

struct ReaderInputs {
  const Catalog& catalog;
  const Plan& plan;
  const Schedule& schedule;
  Engine& engine;
  FileSlots& files;
  Scatter& scatter;
  Handoff& handoff;
  unsigned depth = 32;
  unsigned refill = 8;                       // reads that complete, and are then submitted anew
  std::uint32_t align = kPageBytes;          // granule of a resubmitted short read
  std::function<void()> on_ready = nullptr;  // after batches were published, on this thread
};

struct ReaderCounts {
  std::uint64_t submitted = 0, submitted_bytes = 0, short_reads = 0, io_errors = 0;
  std::uint64_t groups_cut = 0;  // submissions that a gate ended early
};

class Reader {
 public:
  explicit Reader(const ReaderInputs& in);
  Result<> run(const std::atomic<bool>& stop);

  const Readiness& readiness() const { return readiness_; }
  const LogHistogram& latency() const { return latency_; }
  const ReaderCounts& counts() const { return counts_; }
  // When nothing was in flight because the window's memory was not given back; at most one a gate.
  const std::vector<MemoryWait>& waits() const { return waits_; }

 private:
  // A request in flight: a range of a read's pieces (all of them, or one when retrying).
  struct Flight {
    PieceRange range;
    std::uint64_t offset = 0;
    std::uint32_t length = 0;
    std::uint32_t done = 0;
    std::uint32_t stalls = 0;  // submissions in a row that brought nothing
    std::span<iovec> iov;
    std::int64_t submit_ns = 0;  // of the first submission; 0: before it
  };

  Result<> fill();
  bool gate_open();
  void wait_for_memory();
  std::uint32_t group_limit() const;
  Result<> take(const PieceRange& range);
  Result<int> slot_of(std::uint32_t read);
  Result<> queue(std::uint32_t tag);
  void fill_zeros(const PieceRange& range);
  Result<> submit_group();
  Result<> drain();
  std::size_t refill_target() const;
  Result<> finish(const Completion& c, std::int64_t now);
  Result<> resubmit(const Completion& c, std::int64_t now);
  void fail(const PieceRange& range, int error, std::int64_t now);
  bool at_end_of_file(const Flight& f) const;
  void publish(std::int64_t now);
  std::uint32_t in_flight() const {
    return static_cast<std::uint32_t>(flights_.size() - free_tags_.size());
  }
  bool reads_left() const { return next_read_ < in_.plan.reads.size() || !retries_.empty(); }

  const ReaderInputs in_;
  Readiness readiness_;
  std::vector<Flight> flights_;  // by tag
  std::vector<std::uint32_t> free_tags_;
  std::vector<ReadRequest> group_;   // to be submitted together
  std::vector<PieceRange> retries_;  // single pieces of reads that failed
  std::vector<Completion> completions_;
  std::uint32_t next_read_ = 0;
  std::size_t next_gate_ = 0;
  ReaderCounts counts_;
  std::vector<MemoryWait> waits_;
  LogHistogram latency_;
};

}  // namespace blksweep
