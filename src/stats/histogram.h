// Log-linear histogram: 64 sub-buckets per octave, so a bucket is at most 1/64 of its value wide
// and its midpoint is within 0.8 % of every value in it. Values below 128 are exact.
//
// Memory:  a fixed 30 KiB; add() never allocates.
// Threads: one owner.
// Source:  the bucketing idea of HdrHistogram (G. Tene), in its plain power-of-two form.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace blksweep {

// Of (lower bound, count) buckets, ascending: the lower bound of the first that has at least
// `share` of all at or below it. 0 of no values.
inline std::uint64_t bucket_percentile(
    const std::vector<std::pair<std::uint64_t, std::uint64_t>>& buckets, double share) {
  std::uint64_t all = 0;
  for (const auto& [lower, count] : buckets) {
    all += count;
  }
  std::uint64_t below = 0;
  for (const auto& [lower, count] : buckets) {
    below += count;
    if (static_cast<double>(below) >= share * static_cast<double>(all)) {
      return lower;
    }
  }
  return 0;
}

class LogHistogram {
 public:
  void add(std::uint64_t value, std::uint64_t count = 1) { buckets_[index_of(value)] += count; }

  // (lower bound, count) of the buckets that are not empty, ascending.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> buckets() const {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> out;
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      if (buckets_[i] > 0) {
        out.emplace_back(lower_bound(i), buckets_[i]);
      }
    }
    return out;
  }

  // The top 7 bits of the value pick the bucket: 64 .. 127 after shifting by `octave`.
  static std::size_t index_of(std::uint64_t v) {
    const auto width = static_cast<unsigned>(std::bit_width(v));
    const unsigned octave = width > kTopBits ? width - kTopBits : 0;
    return octave * kSub + static_cast<std::size_t>(v >> octave);
  }
  static std::uint64_t lower_bound(std::size_t index) {
    const std::size_t octave = index < 2 * kSub ? 0 : index / kSub - 1;
    return static_cast<std::uint64_t>(index - octave * kSub) << octave;
  }

 private:
  static constexpr unsigned kTopBits = 7;
  static constexpr std::size_t kSub = std::size_t{1} << (kTopBits - 1);
  std::array<std::uint64_t, (64 - kTopBits) * kSub + 2 * kSub> buckets_{};
};

}  // namespace blksweep
