// Seek times from latencies by distance. A read takes path + seek + rotational delay + transfer;
// at an angle that is random the delay is uniform on one revolution, so that the least latency
// shows the seek and the greatest the seek and a revolution. With the period known both ends tell
// the same number, and their mean has a standard deviation of period / (sqrt 2 n).
#include <algorithm>
#include <cmath>
#include <map>

#include "model/map_facts.h"

#include "stats/quantile.h"

namespace blksweep {
namespace {

constexpr std::size_t kLeastReads = 8;
// Nearer than this a read may meet what the drive is reading ahead, in either direction.
constexpr std::int64_t kNearest = std::int64_t{768} << 10;
constexpr std::int64_t kReadAhead = std::int64_t{4} << 20;  // what a drive may read ahead

struct Ends {
  double low = 0, high = 0;
  std::size_t reads = 0;
};

// The least and greatest latency of the densest window of one period (and what the host's path
// varies by): what lies outside was a hit in the drive's cache (below) or held up by the host.
Ends ends_of(std::vector<double>& latencies, double window) {
  std::ranges::sort(latencies);
  Ends best;
  for (std::size_t from = 0, to = 0; from < latencies.size(); ++from) {
    while (to < latencies.size() && latencies[to] <= latencies[from] + window) {
      ++to;
    }
    if (to - from > best.reads) {
      best = {latencies[from], latencies[to - 1], to - from};
    }
  }
  return best;
}

double root(const SeekEstimate& s, double size) {
  return std::sqrt(std::abs(static_cast<double>(s.distance)) / size);
}

// A line through the neighbours in the square root of the distance, the nearer the heavier
// (tricube): a seek time is nearly straight in it over a short stretch, and noise is averaged. The
// neighbours are those within a sixteenth of the axis, at least two on each side.
double smoothed(const std::vector<SeekEstimate>& points, std::size_t at, double size) {
  const double here = root(points[at], size);
  const auto away = [&](std::size_t i) { return std::abs(root(points[i], size) - here); };
  const std::size_t low = at < 2 ? 0 : at - 2;
  const std::size_t high = std::min(points.size() - 1, at + 2);
  const double reach = 1.01 * std::max({1.0 / 16, away(low), away(high)});
  double w = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (away(i) >= reach) {
      continue;
    }
    const double near = 1 - std::pow(away(i) / reach, 3);
    // The spread of an estimate from extremes falls with the number of reads itself, not its root.
    const double n = static_cast<double>(points[i].reads);
    const double weight = near * near * near * n * n;
    const double r = root(points[i], size) - here;
    w += weight;
    x += weight * r;
    y += weight * points[i].raw_ns;
    xx += weight * r * r;
    xy += weight * r * points[i].raw_ns;
  }
  const double det = w * xx - x * x;
  return det > 1e-12 * w * w ? (xx * y - x * xy) / det : y / w;
}

// The closest curve that never falls with the distance (pool adjacent violators).
void make_monotone(std::vector<SeekEstimate>& points) {
  struct Block {
    double sum, weight;
    std::size_t count;
  };
  std::vector<Block> blocks;
  for (const SeekEstimate& p : points) {
    const auto w = static_cast<double>(p.reads);
    blocks.push_back({std::max(0.0, p.ns) * w, w, 1});
    while (blocks.size() > 1) {
      const Block last = blocks.back();
      Block& before = blocks[blocks.size() - 2];
      if (before.sum / before.weight <= last.sum / last.weight) {
        break;
      }
      before = {before.sum + last.sum, before.weight + last.weight, before.count + last.count};
      blocks.pop_back();
    }
  }
  std::size_t at = 0;
  for (const Block& b : blocks) {
    for (std::size_t i = 0; i < b.count; ++i) {
      points[at++].ns = b.sum / b.weight;
    }
  }
}

using Points = std::vector<SeekEstimate>;

const SeekEstimate* opposite(const Points& points, std::int64_t distance) {
  const auto found = std::ranges::find(points, -distance, &SeekEstimate::distance);
  return found == points.end() ? nullptr : &*found;
}

// After a read the drive goes on reading; a short way forward the data then comes without any
// seek. What is much faster forward than backward was such an answer, or had some; a way backward
// of the same length then meets what was read ahead of earlier reads, and is dropped as well.
void drop_read_ahead(Points& backward, Points& forward) {
  std::vector<std::int64_t> ahead;
  for (const SeekEstimate& back : backward) {
    const SeekEstimate* there = opposite(forward, back.distance);
    if (-back.distance < kReadAhead && (there == nullptr || there->raw_ns < 0.75 * back.raw_ns)) {
      ahead.push_back(-back.distance);
    }
  }
  const auto dropped = [&ahead](const SeekEstimate& s) {
    return std::ranges::find(ahead, std::abs(s.distance)) != ahead.end();
  };
  std::erase_if(forward, dropped);
  std::erase_if(backward, dropped);
}

// Most arms are as fast one way as the other. Where the two differ by no more than the estimates'
// own spread (a uniform range's middle from n reads: period / (sqrt 2 n)), both get their mean,
// which halves the variance.
void pool_directions(Points& backward, Points& forward, double period) {
  constexpr double kUsual = 1.2;  // median of |normal| is 0.67; noise of the host adds a little
  std::vector<double> differences;
  for (const SeekEstimate& s : forward) {
    if (const SeekEstimate* back = opposite(backward, s.distance)) {
      const double n = static_cast<double>(s.reads + back->reads) / 2;
      differences.push_back(std::abs(s.raw_ns - back->raw_ns) * n / period);
    }
  }
  if (differences.size() < 4 || median(differences) > kUsual) {
    return;
  }
  for (SeekEstimate& back : backward) {
    const auto there = std::ranges::find(forward, -back.distance, &SeekEstimate::distance);
    if (there != forward.end()) {
      back.raw_ns = there->raw_ns = (back.raw_ns + there->raw_ns) / 2;
    }
  }
}

void smooth(std::vector<SeekEstimate>& points, double size) {
  std::vector<double> out;
  for (std::size_t i = 0; i < points.size(); ++i) {
    out.push_back(smoothed(points, i, size));
  }
  for (std::size_t i = 0; i < points.size(); ++i) {
    points[i].ns = out[i];
  }
  make_monotone(points);
}

}  // namespace

std::vector<SeekEstimate> seek_estimates(const LatencyMap& map, const SeekBasis& basis) {
  std::map<std::int64_t, std::vector<double>> by_distance;
  // Not slower than a cached read: the drive's cache still had it.
  const double hit = 1.25 * basis.path_ns + basis.noise_ns;
  for (const MapRead& r : map.reads) {
    if (r.part == MapPart::distance && std::abs(r.distance) >= kNearest &&
        static_cast<double>(r.latency_ns) > hit) {
      by_distance[r.distance].push_back(static_cast<double>(r.latency_ns));
    }
  }
  std::vector<SeekEstimate> backward, forward;
  for (auto& [distance, latencies] : by_distance) {
    const Ends e = ends_of(latencies, basis.period_ns + basis.noise_ns);
    if (e.reads >= kLeastReads) {
      // The middle of the window, half a period above its lower end.
      const double seek =
          (e.low + e.high - basis.period_ns) / 2 - basis.path_ns - basis.transfer_ns;
      if (seek > 0) {
        (distance < 0 ? backward : forward).push_back({distance, e.reads, seek, seek});
      }
    }
  }
  std::ranges::reverse(backward);  // ascending in length
  drop_read_ahead(backward, forward);
  pool_directions(backward, forward, basis.period_ns);
  smooth(backward, static_cast<double>(map.size));
  smooth(forward, static_cast<double>(map.size));
  std::ranges::reverse(backward);
  backward.insert(backward.end(), forward.begin(), forward.end());
  return backward;
}

}  // namespace blksweep
