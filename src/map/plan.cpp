#include "map/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "base/units.h"

namespace blksweep {
namespace {

constexpr std::uint64_t kShortest = kMiB / 2;
constexpr std::uint32_t kZoneRead = 1U << 20;
constexpr std::size_t kZoneReads = 10;
// Visits to a place in one go: within a short time few periods come into question.
constexpr int kVisits = 4;
// A track of today's disks holds about 1 to 2 MiB: a distance that varies by more than that meets
// every angle by itself.
constexpr std::uint64_t kPausedBelow = 48 * kMiB;

// 0, 1/2, 1/4, 3/4 ...: however early it ends, the places are spread (van der Corput).
double spread(std::uint64_t n) {
  double x = 0;
  for (double half = 0.5; n != 0; n >>= 1, half /= 2) {
    x += (n & 1) != 0 ? half : 0;
  }
  return x;
}

std::vector<std::uint64_t> log_spaced(std::uint64_t low, std::uint64_t high, std::uint32_t block) {
  std::vector<std::uint64_t> out;
  const double ratio = static_cast<double>(high) / static_cast<double>(low);
  for (std::size_t i = 0; i < kMapDistances; ++i) {
    const double at = static_cast<double>(i) / static_cast<double>(kMapDistances - 1);
    out.push_back(align_down(
        static_cast<std::uint64_t>(static_cast<double>(low) * std::pow(ratio, at)), block));
  }
  return out;
}

// How far from its nominal value a distance may be: enough to meet every angle, little enough that
// the seek stays the same within some per cent (it grows with the root of the distance).
std::uint64_t variation(std::uint64_t distance) {
  return std::max(distance / 25, std::min(kMiB, distance / 4));
}

std::uint64_t magnitude(std::int64_t distance) {
  return static_cast<std::uint64_t>(distance < 0 ? -distance : distance);
}

}  // namespace

Result<MapPlan> MapPlan::make(const MapPlanSettings& settings) {
  if (settings.size < kSmallestMap) {
    return usage_error(fmt::format("{} are too few to map: give a device or file of {} or more",
                                   format_bytes({settings.size}), format_bytes({kSmallestMap})));
  }
  if (settings.block == 0 || settings.block > 65536) {
    return usage_error(
        fmt::format("blocks of {} cannot be mapped", format_bytes({settings.block})));
  }
  MapPlan plan(settings);
  if (plan.places_.bytes() < kSmallestMap) {
    return usage_error(
        fmt::format("only {} of {} are written, too few to map: --unwritten reads "
                    "the rest, too",
                    format_bytes({plan.places_.bytes()}), format_bytes({settings.size})));
  }
  return plan;
}

namespace {

// Whole blocks, of at least a page.
MapPlanSettings in_blocks(MapPlanSettings s) {
  s.block = std::max(s.block, kPageBytes);
  s.size = align_down(s.size, s.block);
  return s;
}

}  // namespace

MapPlan::MapPlan(const MapPlanSettings& settings)
    : settings_(in_blocks(settings)),
      rng_(settings.seed, 0x3A9),
      places_(settings_.size, settings_.block, settings_.written) {
  const std::uint64_t longest =
      settings_.size - settings_.size / 20 - std::uint64_t{2} * settings_.block;
  distances_ = log_spaced(kShortest, longest, settings_.block);
  choose_revisits();
  head_ = align_down(settings_.size / 2, settings_.block);
}

void MapPlan::choose_revisits() {
  for (std::size_t i = 0; i < kMapRevisits; ++i) {
    // One in each of equal pieces, so that no two share what a drive reads ahead.
    const std::uint64_t piece = settings_.size / kMapRevisits;
    const std::uint64_t at =
        align_down(i * piece + rng_.below(piece - settings_.block), settings_.block);
    const auto written = places_.nearest(at, settings_.block);
    if (written && std::ranges::find(revisit_, *written) == revisit_.end()) {
      revisit_.push_back(*written);
    }
  }
  shuffle(std::span<std::uint64_t>(revisit_), rng_);
}

std::vector<std::uint32_t> MapPlan::sizes() const {
  std::vector<std::uint32_t> out;
  for (std::uint32_t bytes = settings_.block; bytes <= largest_read(); bytes *= 4) {
    out.push_back(bytes);
  }
  return out;
}

const std::vector<std::uint32_t>& MapPlan::depths() {
  static const std::vector<std::uint32_t> all{1, 2, 4, 8, 16, 32, 64};
  return all;
}

std::uint32_t MapPlan::largest_read() const {
  const std::uint64_t most = settings_.size >= 64 * kMiB ? 4U << 20 : kZoneRead;
  return static_cast<std::uint32_t>(std::min(most, places_.longest()));
}

MapBatch MapPlan::next(MapPart part) {
  switch (part) {
    case MapPart::distance:
      return distance_round();
    case MapPart::size:
      return size_round();
    case MapPart::depth:
      return depth_piece();
    case MapPart::zone:
      return zone_stretch();
    case MapPart::revisit:
      return revisit_round();
    case MapPart::cached:
      break;
  }
  return cached_round();
}

// REQUIRES: `bytes` <= largest_read().
std::uint64_t MapPlan::place(std::uint64_t bytes) {
  if (settings_.written.empty()) {
    return align_down(rng_.below(room(bytes) + 1), settings_.block);
  }
  return *places_.draw(bytes, rng_);
}

// Where it falls on unwritten bytes, the nearest that are written; too far away, it is no read at
// that distance any more.
void MapPlan::keep_to_written(MapStep& step) {
  const std::uint64_t at = *places_.nearest(step.offset, step.bytes);
  const std::uint64_t moved = at < step.offset ? step.offset - at : at - step.offset;
  step.recorded = step.recorded && moved <= variation(magnitude(step.distance)) / 2;
  step.offset = at;
}

MapStep MapPlan::distance_step(std::int64_t nominal) {
  const std::uint64_t block = settings_.block;
  const std::uint64_t vary = variation(magnitude(nominal));
  const std::uint64_t actual =
      align_down(magnitude(nominal) - vary + rng_.below(2 * vary + 1), block);
  MapStep step;
  step.bytes = settings_.block;
  step.distance = nominal;
  step.offset =
      nominal > 0 ? std::min(head_ + actual, room(block)) : head_ - std::min(actual, head_);
  keep_to_written(step);
  step.pause = magnitude(nominal) < kPausedBelow ? rng_.unit() : 0;
  head_ = step.offset + step.bytes;
  return step;
}

// Somewhere from where the distance, varied, stays inside.
MapStep MapPlan::positioning(std::int64_t nominal) {
  const std::uint64_t need = magnitude(nominal) + variation(magnitude(nominal)) + settings_.block;
  const std::uint64_t free = room(std::min(need, room(settings_.block)));
  const std::uint64_t from = align_down(rng_.below(free + 1), settings_.block);
  MapStep step;
  step.bytes = settings_.block;
  step.recorded = false;
  step.offset = nominal > 0
                    ? std::min(from, room(settings_.block))
                    : settings_.size - settings_.block - std::min(from, room(settings_.block));
  keep_to_written(step);
  head_ = step.offset + step.bytes;
  return step;
}

MapBatch MapPlan::distance_round() {
  std::vector<std::int64_t> waiting;
  for (const std::uint64_t d : distances_) {
    // Short seeks take little, so that the same error weighs more: twice as many reads.
    for (int i = 0; i < (d < kPausedBelow ? 2 : 1); ++i) {
      waiting.push_back(static_cast<std::int64_t>(d));
      waiting.push_back(-static_cast<std::int64_t>(d));
    }
  }
  shuffle(std::span<std::int64_t>(waiting), rng_);
  const auto fits = [this](std::int64_t nominal) {
    const std::uint64_t need = magnitude(nominal) + variation(magnitude(nominal));
    return nominal > 0 ? head_ + need + settings_.block <= settings_.size : head_ >= need;
  };
  MapBatch batch;
  // What fits where the head is comes first; only when nothing does, a read takes it elsewhere.
  while (!waiting.empty()) {
    auto next = std::ranges::find_if(waiting, fits);
    if (next == waiting.end()) {
      next = waiting.begin();
      batch.steps.push_back(positioning(*next));
    }
    batch.steps.push_back(distance_step(*next));
    waiting.erase(next);
  }
  return batch;
}

MapBatch MapPlan::size_round() {
  MapBatch batch{MapPart::size, 1, {}};
  std::vector<std::uint32_t> all = sizes();
  shuffle(std::span<std::uint32_t>(all), rng_);
  for (const std::uint32_t bytes : all) {
    batch.steps.push_back({place(bytes), bytes, 0, 0, true});
  }
  return batch;
}

MapBatch MapPlan::depth_piece() {
  const std::uint32_t depth = depths()[depth_at_++ % depths().size()];
  MapBatch batch{MapPart::depth, depth, {}};
  // Behind the first `depth` completions the queue is in its steady state; the rest counts.
  const std::uint32_t reads = std::max<std::uint32_t>(40, 3 * depth + 16);
  for (std::uint32_t i = 0; i < reads; ++i) {
    batch.steps.push_back({place(settings_.block), settings_.block, 0, 0, true});
  }
  return batch;
}

MapBatch MapPlan::zone_stretch() {
  MapBatch batch{MapPart::zone, 2, {}};
  const std::uint64_t zone = settings_.size / kMapZones;
  const auto which = static_cast<std::uint64_t>(spread(zone_at_++ % kMapZones) * kMapZones);
  const std::uint64_t reads = std::min<std::uint64_t>(kZoneReads, zone / kZoneRead);
  const std::uint64_t stretch = reads * kZoneRead;
  // Around the middle of the zone, never the same place twice in a row.
  const std::uint64_t slack = (zone - stretch) / 2;
  std::uint64_t at = which * zone + slack / 2 + rng_.below(slack + 1);
  at = align_down(std::min(at, room(stretch)), settings_.block);
  at = places_.nearest(at, stretch).value_or(settings_.size);
  if ((at + stretch / 2) / zone != which) {
    return batch;  // no stretch around here is written
  }
  for (std::uint64_t i = 0; i < reads; ++i, at += kZoneRead) {
    batch.steps.push_back({at, kZoneRead, 0, 0, true});
  }
  return batch;
}

// In halves, each in a new order every time: between two visits to a place there are always at
// least half of all the others, more than a drive's cache has segments; and no period of our own.
MapBatch MapPlan::revisit_round() {
  MapBatch batch{MapPart::revisit, 1, {}};
  std::span<std::uint64_t> all(revisit_);
  for (int visit = 0; visit < kVisits; ++visit) {
    shuffle(all.first(all.size() / 2), rng_);
    shuffle(all.last(all.size() / 2), rng_);
    for (const std::uint64_t offset : all) {
      batch.steps.push_back({offset, settings_.block, 0, 0, true});
    }
  }
  return batch;
}

MapBatch MapPlan::cached_round() {
  MapBatch batch{MapPart::cached, 1, {}};
  const std::uint32_t largest = std::min(65536U, largest_read());
  const std::uint64_t at = place(largest);
  batch.steps.push_back({at, largest, 0, 0, false});
  for (std::uint32_t bytes = settings_.block; bytes <= largest; bytes *= 4) {
    for (int again = 0; again < 2; ++again) {
      batch.steps.push_back({at, bytes, 0, 0, true});
    }
  }
  return batch;
}

}  // namespace blksweep
