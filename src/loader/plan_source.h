// PlanSource: the reads of a plan as a source of the loop (io/read_loop.h).
//
// Reads come in plan order and wait at the schedule's gates; batches are published as they become
// complete. A run (reader.h) and a prediction (simulate/) add where the bytes are, and how the
// host's time passes.
//
// Errors:   a read that fails is tried again piece by piece, so that one bad sector costs one
//           sample; what stays unreadable is in readiness().failures().
// Lifetime: borrows everything. Threads: the loop's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "io/read_loop.h"
#include "loader/handoff.h"
#include "loader/readiness.h"
#include "plan/schedule.h"
#include "stats/histogram.h"

namespace blksweep {

class PlanSource : public ReadSource {
 public:
  PlanSource(const Catalog& catalog, const Plan& plan, const Schedule& schedule, Handoff& handoff,
             Clock& clock, unsigned depth);

  Next next(std::uint32_t tag, WantedRead& wanted) final;
  bool more() const final { return next_read_ < plan_.reads.size(); }
  Result<> wait() final;
  void submitted(std::span<const ReadRequest> group, std::int64_t now) final;
  bool ends_after(std::uint32_t tag, std::uint32_t done) const final;
  void complete(const ReadDone& done) final;
  void fail(std::uint32_t tag, int error, std::int64_t now) final;
  void settle(std::int64_t now) final;

  const Readiness& readiness() const { return readiness_; }
  const LogHistogram& latency() const { return latency_; }
  // When nothing was in flight because the window's memory was not given back; at most one a gate.
  const std::vector<MemoryWait>& waits() const { return waits_; }
  // Reads that were the first of their submission, ascending.
  std::vector<std::uint32_t> submissions() const;

 protected:
  virtual void zero(const PieceRange& range) = 0;  // its pieces are in holes
  virtual void arrived(std::uint32_t /*tag*/) {}   // its bytes, before they count
  // Returns when so many batches are consumed, or the handoff is stopped.
  virtual Result<> until_consumed(std::uint32_t batches) = 0;
  virtual void published() = 0;  // batches are ready
  const PieceRange& range_of(std::uint32_t tag) const { return range_of_[tag]; }
  WantedRead wanted_of(const PieceRange& range) const;  // the bytes that the pieces span

 private:
  bool gate_open();
  bool take(PieceRange& range);

  const Catalog& catalog_;
  const Plan& plan_;
  const std::vector<Gate>& gates_;
  Handoff& handoff_;
  Clock& clock_;
  Readiness readiness_;
  std::vector<PieceRange> range_of_;  // by tag: all pieces of a read, or one when retrying
  std::vector<PieceRange> retries_;   // single pieces of reads that failed
  std::uint32_t next_read_ = 0;
  std::size_t next_gate_ = 0;
  std::vector<MemoryWait> waits_;
  std::vector<bool> begins_submission_;  // by read
  LogHistogram latency_;
};

}  // namespace blksweep
