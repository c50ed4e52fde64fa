// What a probe tells of single requests, and what is made of it. Part of a RunRecord (records.h),
// where units and what is unknown are said.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/request_origin.h"
#include "store/maybe.h"

namespace blksweep {

// A histogram as (lower bound of bucket, count) pairs, empty buckets left out.
using Histogram = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

// A request as the driver saw it, or a read on its way there; thinned evenly when there are too
// many.
struct IssuePoint {
  std::int64_t at_ns = 0;
  std::uint64_t sector = 0;
  std::uint32_t bytes = 0;
  Maybe<std::int64_t> latency_ns = std::nullopt;  // to its completion; NULL: not seen
  Maybe<std::uint32_t> read = std::nullopt;       // of the plan, its first one in it; NULL: none
  Maybe<std::uint32_t> batch = std::nullopt;      // the first that waits for it; NULL likewise
  ReadOrigin origin = {};                         // not stored: see AttributionRecord
};

// What requests were for (probe/attribution.h). All reads of the disk are in one class each, and
// what is no read in classes of its own.
struct RequestClassRecord {
  std::string kind;  // "samples", "read_ahead" ..., "writes", "flushes", "discards"
  Maybe<std::uint64_t> requests, bytes;  // requests that hold bytes of it; NULL: not told apart
};
struct RequestPathRecord {
  std::string kind, path;  // "file" | "folder"; below the data set's directory
  std::uint64_t requests = 0, bytes = 0;
  Maybe<double> latency_mean_ns;  // of these requests
};
struct RequestExtentRecord {
  std::string path;                                        // of its file
  std::uint64_t file_offset = 0, address = 0, length = 0;  // address: of the whole disk
  std::uint64_t requests = 0, bytes = 0;
  Maybe<double> latency_mean_ns;
};
// Requests of `bytes` to less than twice that, of `latency_ns` to less than the next step.
struct RequestLatencyRecord {
  std::uint64_t bytes = 0, latency_ns = 0, requests = 0;
};
inline constexpr const char* kUnattributed = "elsewhere";  // kind of reads of nobody knows what
struct AttributionRecord {
  std::vector<RequestClassRecord> classes;
  std::vector<RequestPathRecord> paths;      // files, then folders; most bytes first
  std::vector<RequestExtentRecord> extents;  // likewise
  std::vector<RequestLatencyRecord> latency;
};

// What became of the plan's order until a layer saw the reads (stats/order_survival.h). There is
// none where the log was thinned, events were lost, or the order has no meaning (see in_plan).
struct OrderRecord {
  std::string layer;                  // queue | insert | issue | complete
  std::uint64_t reads = 0;            // of the plan, that were seen there
  double kept = 0;                    // share of neighbours that kept their order
  double tau = 0;                     // Kendall's, within windows of the depth
  std::uint64_t inversions = 0;       // pairs in these windows that were exchanged
  double reversed = 0;                // share of reads in reversed runs of requests
  Maybe<std::uint64_t> reversed_run;  // requests in such a run, median
  Maybe<std::uint64_t> batches,
      batches_reversed;  // submissions of the reader, of 3 requests or more
  std::uint64_t displaced_p50 = 0, displaced_p99 = 0, displaced_max = 0;  // places
  std::string verdict;                                                    // one sentence
  Histogram displaced;  // places, the distribution
};

}  // namespace blksweep
