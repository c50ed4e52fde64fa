// PlanSource: the reads of a plan as a source of the loop (io/read_loop.h).
//
// Reads come in plan order and wait at the schedule's gates; batches are published as they become
// complete. A run and a prediction have this very source: they differ in what is at the ends of a
// read (ReadEnds), and in how the host's time passes.
//
// Errors:   a read that fails is tried again piece by piece, so that one bad sector costs one
//           sample; what stays unreadable is in readiness().failures().
// Threads:  the loop's.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "io/read_loop.h"
#include "loader/handoff.h"
#include "loader/readiness.h"
#include "plan/schedule.h"
#include "stats/account.h"
#include "stats/histogram.h"

namespace blksweep {

// The file that a planned read is from, and the memory that it goes to.
class ReadEnds {
 public:
  virtual ~ReadEnds() = default;
  // As ReadSource::aim; the read is of the pieces `range`.
  virtual ReadAim aim(std::uint32_t tag, const PieceRange& range, std::uint32_t done) = 0;
  virtual void zero(const PieceRange& range) = 0;
  virtual Result<> flush() { return {}; }
};

struct PlanSourceInputs {
  const Catalog& catalog;
  const Plan& plan;
  const Schedule& schedule;
  ReadEnds& ends;
  Handoff& handoff;
  Clock& clock;
  // Returns when so many batches are consumed, or the handoff is stopped.
  std::function<Result<>(std::uint32_t batches)> until_consumed;
  std::function<void()> on_ready = nullptr;  // after batches were published
};

// The bytes that the pieces span.
WantedRead wanted_of(const Plan& plan, const PieceRange& range);

class PlanSource final : public ReadSource {
 public:
  PlanSource(PlanSourceInputs in, unsigned depth);

  Next next(std::uint32_t tag, WantedRead& wanted) override;
  bool more() const override { return next_read_ < in_.plan.reads.size(); }
  Result<> wait() override;
  ReadAim aim(std::uint32_t tag, std::uint32_t done) override {
    return in_.ends.aim(tag, range_of_[tag], done);
  }
  Result<> flush() override { return in_.ends.flush(); }
  void submitted(std::span<const ReadRequest> group, std::int64_t now) override;
  bool ends_after(std::uint32_t tag, std::uint32_t done) const override;
  void complete(const ReadDone& done) override;
  void fail(std::uint32_t tag, int error, std::int64_t now) override;
  void settle(std::int64_t now) override;

  const Readiness& readiness() const { return readiness_; }
  const LogHistogram& latency() const { return latency_; }
  // When nothing was in flight because the window's memory was not given back; at most one a gate.
  const std::vector<MemoryWait>& waits() const { return waits_; }

 private:
  bool gate_open();
  bool take(PieceRange& range);
  void fill_zeros(const PieceRange& range);

  const PlanSourceInputs in_;
  Readiness readiness_;
  std::vector<PieceRange> range_of_;  // by tag: all pieces of a read, or one when retrying
  std::vector<PieceRange> retries_;   // single pieces of reads that failed
  std::uint32_t next_read_ = 0;
  std::size_t next_gate_ = 0;
  std::vector<MemoryWait> waits_;
  LogHistogram latency_;
};

}  // namespace blksweep
