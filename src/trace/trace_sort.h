// Sorts the records of a trace by time in bounded memory: runs are sorted in memory, stored as
// blocks in a temporary file, and merged. Records of one time stay in the order of add().
//
// Memory:    `run_records` * 56 bytes, half as much for sorting, and a small block a run while
//            merging.
// Files:     an unnamed one in `folder`, about 10 bytes a record; none where one run holds all.
// Errors:    the temporary file cannot be written.
// Threads:   one owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "trace/trace_block.h"
#include "trace/trace_file.h"

namespace blksweep {

class TraceSort {
 public:
  static constexpr std::size_t kRunRecords = std::size_t{1} << 20;

  explicit TraceSort(std::string folder, std::size_t run_records = kRunRecords)
      : folder_(std::move(folder)), run_records_(run_records) {}

  // REQUIRES: time_ns >= 0, place < 2^32 - 1.
  Result<> add(const TraceRecord& record);
  std::int64_t first_ns() const { return first_ns_; }  // INT64_MAX: nothing was added

  // Gives all records in order; to be called once, last.
  Result<> drain(const std::function<Result<>(const TraceRecord&)>& take);

 private:
  struct Run {
    std::vector<BlockPlace> blocks;
    std::size_t next_block = 0, next = 0;
    std::vector<TraceRecord> records;
  };
  Result<> spill();
  Result<bool> load(Run& run);
  Result<> merge(const std::function<Result<>(const TraceRecord&)>& take);

  std::string folder_;
  std::size_t run_records_;
  std::vector<TraceRecord> run_;
  std::vector<Run> runs_;
  Fd file_;
  std::uint64_t end_ = 0;
  std::int64_t first_ns_ = INT64_MAX;
  BlockCoder coder_;
  std::vector<std::byte> body_;
};

}  // namespace blksweep
