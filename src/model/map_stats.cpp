#include "model/map_stats.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>

#include "stats/quantile.h"

namespace blksweep {
namespace {

constexpr std::size_t kPlaces = 16;
// With two reads in flight the first one's end says nothing of the rate, and the second's may still
// carry the seek.
constexpr std::size_t kDropped = 2;

std::int64_t key_of(const MapRead& r) {
  switch (r.part) {
    case MapPart::distance:
      return r.distance;
    case MapPart::size:
    case MapPart::cached:
      return r.bytes;
    case MapPart::depth:
      return r.depth;
    default:
      return 0;
  }
}

std::vector<MapRead> in_time(const LatencyMap& map, MapPart part) {
  std::vector<MapRead> out;
  std::ranges::copy_if(map.reads, std::back_inserter(out),
                       [part](const MapRead& r) { return r.part == part; });
  std::ranges::stable_sort(out, {}, &MapRead::begin_ns);
  return out;
}

std::int64_t end_of(const MapRead& r) { return r.begin_ns + r.latency_ns; }

// Calls `f` with each longest run of neighbours that `same` holds for.
template <class Same, class F>
void each_run(const std::vector<MapRead>& reads, Same same, F f) {
  for (std::size_t from = 0; from < reads.size();) {
    std::size_t to = from + 1;
    while (to < reads.size() && same(reads[to - 1], reads[to])) {
      ++to;
    }
    f(std::span(reads).subspan(from, to - from));
    from = to;
  }
}

struct Window {
  std::size_t reads = 0;
  std::int64_t ns = 0;
};

// Completions between the depth-th and the last submission.
Window full_queue(std::span<const MapRead> burst) {
  const std::size_t depth = burst.front().depth;
  if (burst.size() < 2 * depth + 1) {
    return {};
  }
  std::vector<std::int64_t> ends;
  for (const MapRead& r : burst) {
    ends.push_back(end_of(r));
  }
  std::ranges::sort(ends);
  const std::int64_t from = ends[depth - 1];
  // The completion that made the last submission possible is the last that counts.
  const auto last = std::ranges::upper_bound(ends, burst.back().begin_ns) - ends.begin();
  const auto counted = static_cast<std::size_t>(last);
  if (counted <= depth) {
    return {};
  }
  return {counted - depth, ends[counted - 1] - from};
}

}  // namespace

std::int64_t percentile(std::vector<std::int64_t> values, double share) {
  if (values.empty()) {
    return 0;
  }
  const double rank = std::ceil(share * static_cast<double>(values.size()));
  const auto at = std::min(values.size() - 1, static_cast<std::size_t>(std::max(1.0, rank)) - 1);
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(at));
  return values[at];
}

std::vector<LatencyRow> latency_rows(const LatencyMap& map, MapPart part) {
  std::map<std::int64_t, std::vector<std::int64_t>> by_key;
  for (const MapRead& r : map.reads) {
    if (r.part == part) {
      by_key[key_of(r)].push_back(r.latency_ns);
    }
  }
  std::vector<LatencyRow> rows;
  for (const auto& [key, values] : by_key) {
    rows.push_back({key, values.size(), percentile(values, 0.01), percentile(values, 0.5),
                    percentile(values, 0.9), percentile(values, 0.99), std::ranges::max(values)});
  }
  return rows;
}

std::vector<DepthRate> depth_rates(const LatencyMap& map) {
  std::map<std::uint32_t, Window> sums;
  each_run(
      in_time(map, MapPart::depth),
      [](const MapRead& a, const MapRead& b) { return a.depth == b.depth; },
      [&sums](std::span<const MapRead> burst) {
        const Window w = full_queue(burst);
        Window& sum = sums[burst.front().depth];
        sum.reads += w.reads;
        sum.ns += w.ns;
      });
  std::vector<DepthRate> out;
  for (const auto& [depth, w] : sums) {
    if (w.ns > 0) {
      out.push_back(
          {depth, w.reads, static_cast<double>(w.reads) * 1e9 / static_cast<double>(w.ns)});
    }
  }
  return out;
}

std::vector<ZoneRate> zone_rates(const LatencyMap& map) {
  struct Place {
    std::vector<double> rates;
    double middle = 0;
  };
  std::map<std::uint64_t, Place> places;
  const auto stretch = [&](std::span<const MapRead> reads) {
    if (reads.size() < kDropped + 2) {
      return;
    }
    const auto counted = reads.subspan(kDropped + 1);
    const std::int64_t ns = end_of(reads.back()) - end_of(reads[kDropped]);
    const double middle = static_cast<double>(counted.front().offset) / 2 +
                          static_cast<double>(counted.back().offset + counted.back().bytes) / 2;
    if (ns <= 0 || map.size == 0) {
      return;
    }
    const double share = middle / static_cast<double>(map.size);
    Place& p = places[static_cast<std::uint64_t>(share * kPlaces)];
    const double bytes = static_cast<double>(counted.size()) * counted.front().bytes;
    p.rates.push_back(bytes * 1e9 / static_cast<double>(ns));
    p.middle += middle;
  };
  each_run(
      in_time(map, MapPart::zone),
      [](const MapRead& a, const MapRead& b) { return b.offset == a.offset + a.bytes; }, stretch);
  std::vector<ZoneRate> out;
  for (const auto& [which, p] : places) {
    const auto n = p.rates.size();
    out.push_back(
        {static_cast<std::uint64_t>(p.middle / static_cast<double>(n)), n, median(p.rates)});
  }
  return out;
}

std::optional<double> path_ns(const LatencyMap& map) {
  std::uint32_t smallest = UINT32_MAX;
  for (const MapRead& r : map.reads) {
    smallest = r.part == MapPart::cached ? std::min(smallest, r.bytes) : smallest;
  }
  std::vector<double> latencies;
  for (const MapRead& r : map.reads) {
    if (r.part == MapPart::cached && r.bytes == smallest) {
      latencies.push_back(static_cast<double>(r.latency_ns));
    }
  }
  return latencies.empty() ? std::nullopt : std::optional(median(latencies));
}

}  // namespace blksweep
