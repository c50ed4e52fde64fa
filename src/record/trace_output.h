// TraceOutput: records of a recorder, which come when they have ended, as a trace file in the order
// of their beginning.
//
// Order:   a record is held back for twice the longest that one has come late so far, within
//          kLeastHold and kMostHold; what began before one that is written already is kept, and
//          merged in by finish().
// Crash:   what was held back no longer is in the file kFlushes later; a file that was not finished
//          can be read up to there.
// Memory:  kMostHold of records, 56 bytes each, and what came later.
// Output:  a new file; one that is there is never touched.
// Errors:  the file cannot be made or written.
// Threads: one owner.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "trace/trace_file.h"

namespace blksweep {

class TraceOutput {
 public:
  static constexpr std::int64_t kLeastHold = 250'000'000, kMostHold = 5'000'000'000,
                                kFlushes = 500'000'000;

  // Times of records and of advance() are those of CLOCK_MONOTONIC.
  static Result<TraceOutput> begin(const std::string& path, const TraceFacts& facts);
  TraceOutput(TraceOutput&&) = default;

  Result<std::uint32_t> place(std::string_view name);
  void add(const TraceRecord& record) {
    held_.push({record, number_++});
    newest_begin_ns_ = std::min(newest_begin_ns_, record.time_ns);
  }
  Result<> advance(std::int64_t now);
  Result<> finish(TraceFacts facts);
  void discard();  // the file goes, too
  std::uint64_t records() const { return number_; }
  std::uint64_t places() const { return names_.size(); }

 private:
  TraceOutput() = default;
  struct Held {
    TraceRecord record;
    std::uint64_t number;
    bool operator>(const Held& o) const {
      return record.time_ns != o.record.time_ns ? record.time_ns > o.record.time_ns
                                                : number > o.number;
    }
  };
  Result<> write_until(std::int64_t time_ns);
  Result<> merge_late(const TraceFacts& facts);

  std::string path_;
  std::unique_ptr<Fd> fd_;  // where it is when this is moved, the writer writes
  std::unique_ptr<TraceWriter> writer_;
  std::priority_queue<Held, std::vector<Held>, std::greater<>> held_;
  std::vector<TraceRecord> late_;
  std::vector<std::string> names_;  // by place
  std::int64_t first_ns_ = -1;      // CLOCK_MONOTONIC of time 0
  std::int64_t written_ns_ = 0, flushed_ns_ = 0;
  std::int64_t newest_begin_ns_ = INT64_MAX;  // the first of what came since advance()
  std::int64_t hold_ns_ = kLeastHold;
  std::uint64_t number_ = 0;
};

}  // namespace blksweep
