#include "experiment/proof/map_proof.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace blksweep {
namespace {

void add_file_read(const Catalog& catalog, const Read& read, std::uint32_t number,
                   std::vector<PlannedPlace>& out) {
  const std::uint64_t end = read.offset + read.length;
  for (const ExtentRecord& e : catalog.extents_of(read.source)) {
    const std::uint64_t from = std::max(e.file_offset, read.offset);
    const std::uint64_t to = std::min(align_up(e.file_end(), kPageBytes), end);
    if (e.has_address() && from < to) {
      const std::uint64_t at = catalog.partition_start + e.device_offset + (from - e.file_offset);
      out.push_back({at, at + (to - from), number});
    }
  }
}

}  // namespace

std::vector<PlannedPlace> planned_places(const Catalog& catalog, const Plan& plan) {
  std::vector<PlannedPlace> out;
  for (std::uint32_t r = 0; r < plan.reads.size(); ++r) {
    const Read& read = plan.reads[r];
    if (read.source == kFromDevice) {
      const std::uint64_t at = catalog.partition_start + read.offset;
      out.push_back({at, at + read.length, r});
    } else if (read.source != kZeros) {
      add_file_read(catalog, read, r, out);
    }
  }
  std::ranges::sort(out, {}, &PlannedPlace::begin);
  return out;
}

namespace {

const PlannedPlace* find_place(const std::vector<PlannedPlace>& places, std::uint64_t at) {
  auto after = std::ranges::upper_bound(places, at, {}, &PlannedPlace::begin);
  return after != places.begin() && at < std::prev(after)->end ? &*std::prev(after) : nullptr;
}

// 0, 1, 2 ... by size; equal ones share the mean of theirs.
std::vector<double> ranks(const std::vector<std::uint32_t>& values) {
  std::vector<std::size_t> by_size(values.size());
  std::iota(by_size.begin(), by_size.end(), std::size_t{0});
  std::ranges::sort(by_size, {}, [&](std::size_t i) { return values[i]; });
  std::vector<double> rank(values.size());
  for (std::size_t begin = 0; begin < by_size.size();) {
    std::size_t end = begin + 1;
    while (end < by_size.size() && values[by_size[end]] == values[by_size[begin]]) {
      ++end;
    }
    for (std::size_t i = begin; i < end; ++i) {
      rank[by_size[i]] = static_cast<double>(begin + end - 1) / 2;
    }
    begin = end;
  }
  return rank;
}

// Of the values with their own order; none where all are equal.
std::optional<double> rank_correlation(const std::vector<std::uint32_t>& values) {
  const std::vector<double> rank = ranks(values);
  const double mean = static_cast<double>(values.size() - 1) / 2;
  double together = 0, of_rank = 0, of_order = 0;
  for (std::size_t i = 0; i < rank.size(); ++i) {
    const double x = static_cast<double>(i) - mean, y = rank[i] - mean;
    together += x * y;
    of_order += x * x;
    of_rank += y * y;
  }
  return of_rank > 0 ? std::optional(together / std::sqrt(of_order * of_rank)) : std::nullopt;
}

}  // namespace

MapProof prove_map(const Catalog& catalog, const Plan& plan, std::span<const IssuePoint> issued,
                   std::uint32_t depth) {
  MapProof proof;
  const std::vector<PlannedPlace> places =
      plan.epochs == 1 ? planned_places(catalog, plan) : std::vector<PlannedPlace>();
  if (places.empty()) {
    return proof;
  }
  if (issued.size() < kLeastSeen) {
    return proof;
  }
  std::vector<std::uint32_t> reads;
  std::uint64_t bytes = 0, in_plan = 0;
  for (const IssuePoint& i : issued) {
    bytes += i.bytes;
    if (const PlannedPlace* place = find_place(places, i.sector * kSectorBytes)) {
      reads.push_back(place->read);
      in_plan += i.bytes;
    }
  }
  proof.in_plan = bytes > 0
                      ? std::optional(static_cast<double>(in_plan) / static_cast<double>(bytes))
                      : std::nullopt;
  if (reads.size() >= std::max(kLeastSeen, kDepthsSeen * depth)) {
    proof.plan_order = rank_correlation(reads);
  }
  return proof;
}

}  // namespace blksweep
