// BatchSource: the reads of one batch after another as a source of the loop (io/read_loop.h), each
// with an open and a close of its own, as a program reads samples that knows of no plan.
//
// After a run of the loop and finish() the batch is complete, but for what failures() names. With
// the scope `sample` a file is closed, and its sample decoded, before the next one is opened; with
// `batch` that comes when all are read.
//
// Ownership: opens files; the engine holds them from flush() until they are closed.
// Errors:    a file that cannot be opened, or is shorter than it was, is a failure.
// Lifetime:  borrows everything. Threads: those of the loop, one worker's.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/units.h"
#include "dataset/data_files.h"
#include "io/read_loop.h"
#include "loader/handoff.h"
#include "loader/settings.h"
#include "plan/schedule.h"
#include "stats/histogram.h"

namespace blksweep {

struct BatchSourceInputs {
  const Catalog& catalog;
  const Plan& plan;  // with MergeSettings::whole: a sample's reads are its own
  const Schedule& schedule;
  const DataFiles& data;
  std::span<std::byte> arena;
  const Handoff& handoff;
  ReadScope scope = ReadScope::sample;
  Nanos decode_cpu{0};
  bool direct = false;
};

struct FailedRead {
  std::uint32_t read = 0;
  int error = 0;  // errno; 0: the file ends before the catalog says
};

class BatchSource final : public ReadSource {
 public:
  BatchSource(const BatchSourceInputs& in, Engine& engine, unsigned depth);

  // The reads from `begin` up to `end` are next.
  void begin(std::uint32_t begin, std::uint32_t end);
  // Closes what the batch left open; spins what decoding its samples costs. Afterwards.
  Result<> finish();
  const std::vector<FailedRead>& failures() const { return failures_; }  // of this batch
  const LogHistogram& latency() const { return latency_; }

  Next next(std::uint32_t tag, WantedRead& wanted) override;
  bool more() const override { return next_ < end_; }
  ReadAim aim(std::uint32_t tag, std::uint32_t done) override;
  Result<> flush() override;
  bool ends_after(std::uint32_t tag, std::uint32_t done) const override;
  void complete(const ReadDone& done) override;
  void fail(std::uint32_t tag, int error, std::int64_t now) override;

 private:
  struct Flight {
    std::uint32_t read = 0;
    bool open = false;  // its slot holds its file
    iovec iov{};
  };
  const Read& read_of(std::uint32_t tag) const { return in_.plan.reads[flights_[tag].read]; }
  int open(std::uint32_t tag);
  // The engine gets fds_ from `slot` on; what it held there is closed.
  Result<> give(std::size_t slot, std::size_t count);
  void ended(std::uint32_t tag);

  const BatchSourceInputs in_;
  Engine& engine_;
  std::vector<Flight> flights_;        // by tag, which is the file's slot, too
  std::vector<Fd> fds_;                // by slot
  std::vector<std::uint32_t> opened_;  // slots whose files the engine does not have yet
  std::uint32_t next_ = 0, end_ = 0;
  std::uint32_t decode_ = 0;  // samples that are there and wait to be decoded
  std::vector<FailedRead> failures_;
  LogHistogram latency_;
  Result<> closed_;   // the first close that was refused
  std::string path_;  // scratch
};

}  // namespace blksweep
