#include "model/map_facts.h"

#include <algorithm>
#include <cmath>

namespace blksweep {
namespace {

// The slope of the median latency of cached reads over their size.
std::optional<double> cached_rate(const LatencyMap& map) {
  const std::vector<LatencyRow> rows = latency_rows(map, MapPart::cached);
  if (rows.size() < 2) {
    return std::nullopt;
  }
  const LatencyRow& small = rows.front();
  const LatencyRow& large = rows.back();
  // Larger reads that take much longer than their bytes do were no hits.
  if (large.p50 <= small.p50) {
    return std::nullopt;
  }
  return static_cast<double>(large.key - small.key) * 1e9 /
         static_cast<double>(large.p50 - small.p50);
}

double mean_rate(const std::vector<ZoneRate>& zones) {
  double sum = 0;
  for (const ZoneRate& z : zones) {
    sum += z.bytes_per_s;
  }
  return zones.empty() ? 0 : sum / static_cast<double>(zones.size());
}

// How far the smallest cached reads usually vary: twice the lower half of it, because a busy host
// adds long delays to the upper.
double path_spread(const LatencyMap& map) {
  std::vector<std::int64_t> latencies;
  const std::vector<LatencyRow> rows = latency_rows(map, MapPart::cached);
  for (const MapRead& r : map.reads) {
    if (r.part == MapPart::cached && r.bytes == rows.front().key) {
      latencies.push_back(r.latency_ns);
    }
  }
  return 2 * static_cast<double>(percentile(latencies, 0.5) - percentile(latencies, 0.05));
}

double smallest_distance_read(const LatencyMap& map) {
  const auto r = std::ranges::find(map.reads, MapPart::distance, &MapRead::part);
  return r == map.reads.end() ? 0 : static_cast<double>(r->bytes);
}

}  // namespace

MapFacts map_facts(const LatencyMap& map) {
  MapFacts f;
  f.path_ns = path_ns(map);
  f.cached_rate = cached_rate(map);
  f.rotation = find_rotation(map);
  if (f.rotation && f.rotation->is_tick()) {
    f.tick_ns = f.rotation->period_ns;
    f.rotation.reset();
  }
  f.zones = zone_rates(map);
  f.depths = depth_rates(map);
  if (f.rotation && f.path_ns && *f.path_ns < f.rotation->period_ns / 2) {
    const double rate = mean_rate(f.zones);
    const double transfer = rate > 0 ? smallest_distance_read(map) * 1e9 / rate : 0;
    f.seeks = seek_estimates(map, {f.rotation->period_ns, *f.path_ns, transfer,
                                   std::min(path_spread(map), f.rotation->period_ns / 50)});
  }
  return f;
}

}  // namespace blksweep
