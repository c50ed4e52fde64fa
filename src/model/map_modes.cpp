#include "model/map_modes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <vector>

namespace blksweep {
namespace {

constexpr std::size_t kLeastPlaces = 12, kLeastVisits = 3;
constexpr std::size_t kLeastOfAMode = 2;  // one place may be a defect of the medium
constexpr double kApart = 2;              // the modes' medians
constexpr double kGap = 1.5;              // between the slowest fast place and the fastest slow one

constexpr double kConstant = 0.75;  // of the visits of either mode on its side of the gap

struct Place {
  std::vector<std::int64_t> latencies;
  double median = 0;
};

double middle(std::vector<std::int64_t> values) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, at);
  return static_cast<double>(*at);
}

// By their median, ascending.
std::vector<Place> places_of(const LatencyMap& map) {
  std::map<std::uint64_t, std::vector<std::int64_t>> visits;
  for (const MapRead& r : map.reads) {
    if (r.part == MapPart::revisit) {
      visits[r.offset].push_back(r.latency_ns);
    }
  }
  std::vector<Place> out;
  for (auto& [offset, latencies] : visits) {
    if (latencies.size() >= kLeastVisits) {
      const double median = middle(latencies);
      out.push_back({std::move(latencies), median});
    }
  }
  std::ranges::sort(out, {}, &Place::median);
  return out;
}

// The first place behind the widest gap between neighbours, in ratio.
std::size_t widest_gap(const std::vector<Place>& places) {
  std::size_t split = kLeastOfAMode;
  const auto gap = [&](std::size_t i) {
    return places[i].median / std::max(1.0, places[i - 1].median);
  };
  for (std::size_t i = split; i + kLeastOfAMode <= places.size(); ++i) {
    split = gap(i) > gap(split) ? i : split;
  }
  return split;
}

// Share of the visits that took less than `limit`.
double share_below(std::span<const Place> places, double limit) {
  std::size_t below = 0, all = 0;
  for (const Place& p : places) {
    below += static_cast<std::size_t>(std::ranges::count_if(
        p.latencies, [limit](std::int64_t ns) { return static_cast<double>(ns) < limit; }));
    all += p.latencies.size();
  }
  return static_cast<double>(below) / static_cast<double>(all);
}

}  // namespace

std::optional<TwoModes> two_modes(const LatencyMap& map) {
  const std::vector<Place> places = places_of(map);
  if (places.size() < kLeastPlaces) {
    return std::nullopt;
  }
  const std::size_t split = widest_gap(places);
  const double below = std::max(1.0, places[split - 1].median);
  const double above = places[split].median;
  const double fast = places[split / 2].median;
  const double slow = places[split + (places.size() - split) / 2].median;
  if (above < kGap * below || slow < kApart * fast) {
    return std::nullopt;
  }
  const std::span<const Place> all(places);
  const double limit = std::sqrt(below * above);
  if (share_below(all.first(split), limit) < kConstant ||
      share_below(all.subspan(split), limit) > 1 - kConstant) {
    return std::nullopt;
  }
  return TwoModes{places.size(), split, fast, slow};
}

}  // namespace blksweep
