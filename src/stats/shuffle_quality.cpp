#include "stats/shuffle_quality.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace blksweep {
namespace {

constexpr std::uint32_t kAbsent = 0xFFFFFFFF;

using Ranks = std::vector<std::uint32_t>;

double clipped(double x) { return std::clamp(x, 0.0, 1.0); }
double pairs(double n) { return n * (n - 1) / 2; }

// emission index -> rank among the emitted samples, 0 .. n - 1. Samples that were not emitted
// (read errors) leave no gap.
Ranks dense_ranks(std::span<const std::uint32_t> samples, std::span<const std::uint32_t> rank) {
  const auto rank_of = [&](std::uint32_t s) { return rank.empty() ? s : rank[s]; };
  std::uint32_t most = 0;
  for (const std::uint32_t s : samples) {
    most = std::max(most, rank_of(s));
  }
  Ranks dense(std::size_t{most} + 1, kAbsent);
  for (const std::uint32_t s : samples) {
    dense[rank_of(s)] = 0;
  }
  std::uint32_t next = 0;
  for (std::uint32_t& d : dense) {
    d = d == kAbsent ? kAbsent : next++;
  }
  Ranks out(samples.size());
  std::ranges::transform(samples, out.begin(), [&](std::uint32_t s) { return dense[rank_of(s)]; });
  return out;
}

double displacement(const Ranks& ranks) {
  const auto n = static_cast<double>(ranks.size());
  double sum = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    sum += std::abs(static_cast<double>(ranks[i]) - static_cast<double>(i));
  }
  return clipped(sum / n / ((n * n - 1) / (3 * n)));
}

double spearman(const Ranks& ranks) {
  const auto n = static_cast<double>(ranks.size());
  double sum = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const double d = static_cast<double>(ranks[i]) - static_cast<double>(i);
    sum += d * d;
  }
  return clipped(1 - std::abs(1 - 6 * sum / (n * (n * n - 1))));
}

double neighbours_parted(const Ranks& ranks) {
  const auto n = static_cast<double>(ranks.size());
  double kept = 0;
  for (std::size_t i = 0; i + 1 < ranks.size(); ++i) {
    kept += ranks[i] + 1 == ranks[i + 1] || ranks[i + 1] + 1 == ranks[i] ? 1 : 0;
  }
  return clipped((1 - kept / (n - 1)) / (1 - 2 / n));
}

// Pairs of equal label inside batches, for a sequence of labels.
class LabelPairs {
 public:
  explicit LabelPairs(std::size_t labels) : seen_(labels) {}

  double count(std::span<const std::uint32_t> labels, std::span<const std::uint32_t> batch_begin) {
    double sum = 0;
    for (std::size_t b = 0; b + 1 < batch_begin.size(); ++b) {
      const auto batch = labels.subspan(batch_begin[b], batch_begin[b + 1] - batch_begin[b]);
      for (const std::uint32_t l : batch) {
        sum += seen_[l]++;
      }
      for (const std::uint32_t l : batch) {
        seen_[l] = 0;
      }
    }
    return sum;
  }

 private:
  Ranks seen_;
};

// Labels become 0 .. labels - 1; "no label" counts as one more label.
std::size_t number_labels(Ranks& labels) {
  Ranks words(labels);
  std::ranges::sort(words);
  words.erase(std::unique(words.begin(), words.end()),
              words.end());  // clang 14 lacks the range form
  if (words.size() == std::size_t{words.back()} + 1) {
    return words.size();
  }
  for (std::uint32_t& l : labels) {
    l = static_cast<std::uint32_t>(std::ranges::lower_bound(words, l) - words.begin());
  }
  return words.size();
}

std::optional<double> label_mix(const EmittedEpoch& epoch) {
  Ranks labels(epoch.samples.size());
  std::ranges::transform(epoch.samples, labels.begin(),
                         [&](std::uint32_t s) { return epoch.label[s]; });
  const std::size_t kinds = number_labels(labels);
  LabelPairs counter(kinds);
  const double found = counter.count(labels, epoch.batch_begin);
  Ranks totals(kinds);
  for (const std::uint32_t l : labels) {
    ++totals[l];
  }
  double equal = 0;
  auto out = labels.begin();
  for (std::uint32_t l = 0; l < kinds; ++l) {
    equal += pairs(totals[l]);
    out = std::fill_n(out, totals[l], l);
  }
  const double purest = counter.count(labels, epoch.batch_begin);
  double in_batches = 0;
  for (std::size_t b = 0; b + 1 < epoch.batch_begin.size(); ++b) {
    in_batches += pairs(epoch.batch_begin[b + 1] - epoch.batch_begin[b]);
  }
  const double expected = in_batches * equal / pairs(static_cast<double>(labels.size()));
  if (purest - expected < 1e-9 * purest || purest == 0) {
    return std::nullopt;
  }
  return clipped((purest - found) / (purest - expected));
}

// Rank in the read order, by sample.
Ranks read_ranks(const EmittedEpoch& epoch) {
  Ranks rank(*std::ranges::max_element(epoch.read_order) + std::size_t{1}, kAbsent);
  for (std::uint32_t i = 0; i < epoch.read_order.size(); ++i) {
    rank[epoch.read_order[i]] = i;
  }
  return rank;
}

}  // namespace

ShuffleQuality shuffle_quality(const EmittedEpoch& epoch) {
  ShuffleQuality quality;
  if (epoch.samples.size() < 3) {
    return quality;
  }
  {
    const Ranks ranks = dense_ranks(epoch.samples, epoch.rank);
    quality.displacement = displacement(ranks);
    quality.spearman = spearman(ranks);
    quality.neighbours = neighbours_parted(ranks);
  }
  if (!epoch.read_order.empty()) {
    quality.spearman_vs_read = spearman(dense_ranks(epoch.samples, read_ranks(epoch)));
  }
  if (!epoch.label.empty() && epoch.batch_begin.size() > 1) {
    quality.label_mix = label_mix(epoch);
  }
  return quality;
}

}  // namespace blksweep
