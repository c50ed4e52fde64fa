// Reader: carries a plan out, from files and into the arena. The hot path of every run.
//
// A PlanSource on a ReadLoop, with real files, real memory and the host's time. Nothing is
// allocated per read or per sample once run() has started. Errors, stop, threads: as theirs.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "loader/epoch_reader.h"
#include "loader/file_slots.h"
#include "loader/plan_source.h"
#include "loader/scatter.h"

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
  bool backwards = false;                    // SubmitOrder::reverse
  std::function<void()> on_ready = nullptr;  // after batches were published, on this thread
};

class Reader final : public PlanSource, public EpochReader {
 public:
  explicit Reader(const ReaderInputs& in);
  Result<> run(const std::atomic<bool>& stop) override { return loop_.run(&stop); }
  const Readiness& readiness() const override { return PlanSource::readiness(); }
  const ReadCounts& counts() const override { return loop_.counts(); }
  const LogHistogram& latency() const override { return PlanSource::latency(); }
  const std::vector<MemoryWait>& waits() const override { return PlanSource::waits(); }
  std::uint64_t staged_reads() const override { return in_.scatter.staged_reads(); }
  const EngineFacts& engine() const override { return in_.engine.facts(); }
  std::vector<std::uint32_t> submissions() const override { return PlanSource::submissions(); }

 private:
  ReadAim aim(std::uint32_t tag, std::uint32_t done) override;
  Result<> flush() override { return in_.files.flush(in_.engine); }
  void zero(const PieceRange& range) override;
  void arrived(std::uint32_t tag) override;
  Result<> until_consumed(std::uint32_t batches) override;
  void published() override;

  const ReaderInputs in_;
  ReadLoop loop_;
};

}  // namespace blksweep
