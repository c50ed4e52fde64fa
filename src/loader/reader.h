// Reader: carries a plan out, from files and into the arena. The hot path of every run.
//
// A PlanSource on the loop (io/read_loop.h), with real files, real memory and the host's time: up
// to `depth` reads in flight, every byte at its planned place, batches published as they are
// complete. Nothing is allocated per read or per sample once run() has started.
//
// Errors, stop, threads: as the loop's and the source's.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

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
  std::function<void()> on_ready = nullptr;  // after batches were published, on this thread
};

class Reader {
 public:
  explicit Reader(const ReaderInputs& in);
  Result<> run(const std::atomic<bool>& stop) { return loop_.run(stop); }

  const Readiness& readiness() const { return source_.readiness(); }
  const LogHistogram& latency() const { return source_.latency(); }
  const std::vector<MemoryWait>& waits() const { return source_.waits(); }
  const ReadCounts& counts() const { return loop_.counts(); }

 private:
  class FileEnds final : public ReadEnds {
   public:
    explicit FileEnds(const ReaderInputs& in)
        : plan_(in.plan), engine_(in.engine), files_(in.files), scatter_(in.scatter) {}
    ReadAim aim(std::uint32_t tag, const PieceRange& range, std::uint32_t done) override;
    void zero(const PieceRange& range) override;
    Result<> flush() override { return files_.flush(engine_); }

   private:
    const Plan& plan_;
    Engine& engine_;
    FileSlots& files_;
    Scatter& scatter_;
  };

  FileEnds ends_;
  PlanSource source_;
  ReadLoop loop_;
};

}  // namespace blksweep
