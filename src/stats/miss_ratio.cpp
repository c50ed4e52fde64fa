#include "stats/miss_ratio.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace blksweep {
namespace {

constexpr double kErrorOfOne = 0.6;  // docs: figure 3 of the source, as a rule
// Distances between sampled keys are steps of 1 / rate: a cache of fewer steps has no point, or its
// hits would all be counted at the next one (with a few hot keys: 37 points off).
constexpr double kLeastSteps = 8;

std::uint64_t mixed(std::uint64_t x) {  // splitmix64's finalizer
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

// Rounded up to 1/64 of the value at most: a curve does not need more. Its sizes, powers of two,
// stay what they are, or a loop over as many keys would miss.
std::uint64_t bucket_of(std::uint64_t distance) {
  const std::uint64_t before = std::max<std::uint64_t>(distance, 1) - 1;
  const int cut = std::max(0, static_cast<int>(std::bit_width(before)) - 7);
  return ((before >> cut) + 1) << cut;
}

}  // namespace

// Keys that were referenced last after `last`: what an LRU stack has above it.
std::uint64_t MissRatio::distance(std::uint64_t last) const {
  std::uint64_t up_to = 0;
  for (std::uint64_t i = last + 1; i > 0; i &= i - 1) {
    up_to += marks_[i - 1];
  }
  return seen_.size() - up_to;
}

void MissRatio::mark(std::uint64_t time, int by) {
  for (std::uint64_t i = time + 1; i <= marks_.size(); i += i & (~i + 1)) {
    marks_[i - 1] += static_cast<std::uint32_t>(by);
  }
}

void MissRatio::count(std::uint64_t distance) {
  const double scaled = static_cast<double>(distance) / rate();
  hits_[bucket_of(static_cast<std::uint64_t>(std::llround(scaled)))] += 1;
}

// Times are numbered anew once the tree is full: only the order of the last references counts.
void MissRatio::compact() {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> order;
  order.reserve(seen_.size());
  for (const auto& [key, seen] : seen_) {
    order.emplace_back(seen.time, key);
  }
  std::ranges::sort(order);
  marks_.assign(std::max<std::size_t>(1024, 4 * order.size()), 0);
  now_ = 0;
  for (const auto& [time, key] : order) {
    seen_[key].time = now_;
    mark(now_++, 1);
  }
}

// The greatest hashes leave; what was counted at the old rate weighs less at the new one.
void MissRatio::shrink() {
  const std::uint64_t limit = by_hash_.top().first;
  while (!by_hash_.empty() && by_hash_.top().first >= limit) {
    const auto gone = seen_.find(by_hash_.top().second);
    mark(gone->second.time, -1);
    seen_.erase(gone);
    by_hash_.pop();
  }
  const double scale = static_cast<double>(limit) / static_cast<double>(limit_);
  for (auto& [distance, n] : hits_) {
    n *= scale;
  }
  cold_ *= scale;
  counted_ *= scale;
  limit_ = limit;
}

void MissRatio::reference(std::uint64_t key) {
  ++references_;
  const std::uint64_t hash = mixed(key) % kAll;
  if (hash >= limit_) {
    return;
  }
  if (now_ == marks_.size()) {
    compact();
  }
  counted_ += 1;
  const auto [at, added] = seen_.try_emplace(key, Seen{now_, hash});
  if (added) {
    cold_ += 1;
    by_hash_.emplace(hash, key);
  } else {
    count(distance(at->second.time) + 1);
    mark(at->second.time, -1);
    at->second.time = now_;
  }
  mark(now_++, 1);
  if (seen_.size() > most_) {
    shrink();
  }
}

double MissRatio::keys() const { return static_cast<double>(seen_.size()) / rate(); }

double MissRatio::error() const {
  return exact() ? 0 : kErrorOfOne / std::sqrt(static_cast<double>(seen_.size()));
}

std::uint64_t MissRatio::least_size() const {
  return exact() ? 1 : std::bit_ceil(static_cast<std::uint64_t>(kLeastSteps / rate()));
}

std::vector<MissRatio::Point> MissRatio::curve() const {
  std::vector<Point> out;
  if (references_ == 0) {
    return out;
  }
  // Hot keys in or out of the sample shift all of the curve; what the sample should have counted
  // is known, and the difference belongs to the shortest distances (3.3).
  const double all = static_cast<double>(references_) * rate();
  const double adjustment = all - counted_;
  const auto keys_there = static_cast<std::uint64_t>(std::ceil(keys()));
  for (std::uint64_t size = least_size();; size *= 2) {
    const bool last = size >= keys_there;  // then every reference but the first of a key hits
    double hits = adjustment;
    for (auto it = hits_.begin(); it != hits_.end() && (last || it->first <= size); ++it) {
      hits += it->second;
    }
    out.push_back({std::min(size, keys_there), std::clamp(1 - hits / all, 0.0, 1.0)});
    if (last) {
      return out;
    }
  }
}

}  // namespace blksweep
