// What a trace is like: counts, sizes, rate, gaps, depth, sequentiality, footprint and the LRU
// miss-ratio curve, in one pass and bounded memory.
//
// Units:   bytes, nanoseconds; cache sizes in blocks of kStatBlock.
// Threads: one owner.
// Source:  docs/traces.md says how each figure is defined.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "stats/histogram.h"
#include "stats/miss_ratio.h"
#include "trace/trace_record.h"

namespace blksweep {

inline constexpr std::uint64_t kStatBlock = 4096;
inline constexpr std::uint64_t kStatMost = std::uint64_t{4} << 30;  // read(2) gives half of it

// Requests and bytes in equal steps of time; the step doubles when there would be more than kMost.
class RateSeries {
 public:
  static constexpr std::size_t kMost = 1024;
  struct Step {
    std::uint64_t requests = 0, bytes = 0;
    double in_flight_ns = 0;  // over the requests in flight, how long they were within it
  };
  void add(std::int64_t at_ns, std::uint64_t bytes);
  // So many were in flight from `begin` to `end`.
  void add_depth(std::int64_t begin, std::int64_t end, std::size_t depth);
  std::int64_t step_ns() const { return step_ns_; }
  const std::vector<Step>& steps() const { return steps_; }

 private:
  Step& step_at(std::int64_t at_ns);

  std::int64_t step_ns_ = 1'000'000;
  std::vector<Step> steps_;
};

class TraceStat {
 public:
  void add(const TraceRecord& record);

  std::uint64_t requests() const { return requests_; }
  std::uint64_t count(TraceOp op) const { return counts_[static_cast<std::size_t>(op)]; }
  std::uint64_t bytes(TraceOp op) const { return bytes_[static_cast<std::size_t>(op)]; }
  std::int64_t duration_ns() const { return last_ns_; }  // to the last request
  // Reads and writes that moved nothing, as at the end of a file: not in sizes(), latencies() and
  // sequential().
  std::uint64_t empty() const { return empty_; }
  const LogHistogram& sizes() const { return sizes_; }
  const LogHistogram& latencies() const { return latencies_; }
  const RateSeries& rate() const { return rate_; }
  // Standard deviation of the gaps between requests over their mean; 1: Poisson. nullopt: fewer
  // than three requests, or all at one time.
  std::optional<double> gap_variation() const;
  // Over time, to the last completion, where all requests tell their latency.
  std::optional<double> mean_depth() const;
  std::optional<std::uint64_t> greatest_depth() const;
  bool tells_depth() const { return untold_ == 0 && requests_ > 0; }
  // Of reads and writes: the share that begins where the one before in the same place ended.
  std::optional<double> sequential() const;
  // Blocks of kStatBlock that were read or written, and how often again.
  const MissRatio& blocks() const { return blocks_; }
  // Requests of which blocks() has the first kStatMost bytes alone.
  std::uint64_t cut() const { return cut_; }
  std::uint64_t threads() const { return threads_.size(); }  // 0: not told

 private:
  void add_depth(const TraceRecord& record);
  void add_blocks(const TraceRecord& record);

  std::uint64_t requests_ = 0, accesses_ = 0, sequential_ = 0, untold_ = 0, deepest_ = 0, cut_ = 0;
  std::uint64_t empty_ = 0;
  std::uint64_t counts_[kTraceOps] = {}, bytes_[kTraceOps] = {};
  std::int64_t last_ns_ = 0, completed_ns_ = 0;
  double gap_mean_ = 0, gap_m2_ = 0, busy_ns_ = 0;
  LogHistogram sizes_, latencies_;
  RateSeries rate_;
  MissRatio blocks_;
  std::unordered_set<std::uint64_t> threads_;
  std::unordered_map<std::uint32_t, std::uint64_t> ends_;  // of the last access of each place
  std::priority_queue<std::int64_t, std::vector<std::int64_t>, std::greater<>> completions_;
  std::int64_t depth_ns_ = 0;  // up to where the depth is known
};

}  // namespace blksweep
