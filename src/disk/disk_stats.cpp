#include "disk/disk_stats.h"

namespace blksweep {
namespace {

using Buckets = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

std::uint64_t total_of(const Buckets& buckets) {
  std::uint64_t n = 0;
  for (const auto& [bound, count] : buckets) {
    n += count;
  }
  return n;
}

}  // namespace

Json histogram_json(const LogHistogram& h, std::int64_t sum) {
  const Buckets buckets = h.buckets();
  const std::uint64_t n = total_of(buckets);
  if (n == 0) {
    return {{"count", 0},     {"mean", nullptr}, {"p50", nullptr},
            {"p90", nullptr}, {"p99", nullptr},  {"max", nullptr}};
  }
  return {{"count", n},
          {"mean", static_cast<double>(sum) / static_cast<double>(n)},
          {"p50", bucket_percentile(buckets, 0.5)},
          {"p90", bucket_percentile(buckets, 0.9)},
          {"p99", bucket_percentile(buckets, 0.99)},
          {"max", buckets.back().first}};
}

Json pacer_json(const PacerStats& s) {
  return {{"requests", s.reads + s.writes},
          {"reads", s.reads},
          {"writes", s.writes},
          {"read_bytes", s.read_bytes},
          {"written_bytes", s.written_bytes},
          {"depth_max", s.depth_max},
          {"latency_ns", histogram_json(s.latency_ns, s.latency_sum_ns)},
          {"lateness_ns", histogram_json(s.lateness_ns, s.lateness_sum_ns)}};
}

}  // namespace blksweep
