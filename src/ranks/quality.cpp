#include "ranks/quality.h"

#include <algorithm>

#include "stats/shuffle_quality.h"

namespace blksweep {
namespace {

constexpr std::uint32_t kNobody = 0xFFFFFFFF;

// Of the first epoch, in order of delivery.
std::vector<std::uint32_t> first_epoch(const EmittedByRanks& emitted, std::size_t rank) {
  std::vector<std::uint32_t> out;
  for (const std::uint64_t one : emitted.of_rank[rank]) {
    if (one >> 32 < emitted.samples) {
      out.push_back(static_cast<std::uint32_t>(one));
    }
  }
  return out;
}

std::vector<std::uint32_t> by_place(const EmittedByRanks& emitted) {
  std::vector<std::uint32_t> out(emitted.samples, kNobody);
  for (const std::vector<std::uint64_t>& rank : emitted.of_rank) {
    for (const std::uint64_t one : rank) {
      if (one >> 32 < emitted.samples) {
        out[one >> 32] = static_cast<std::uint32_t>(one);
      }
    }
  }
  std::erase(out, kNobody);
  return out;
}

struct Steps {
  std::vector<std::uint32_t> samples, step_begin, batch_begin;
};

Steps steps_of(const EmittedByRanks& emitted) {
  std::vector<std::vector<std::uint32_t>> all;
  std::size_t most = 0;
  for (std::size_t rank = 0; rank < emitted.of_rank.size(); ++rank) {
    most = std::max(most, all.emplace_back(first_epoch(emitted, rank)).size());
  }
  Steps steps;
  const auto here = [&steps] { return static_cast<std::uint32_t>(steps.samples.size()); };
  for (std::size_t from = 0; from < most; from += emitted.batch) {
    steps.step_begin.push_back(here());
    for (const std::vector<std::uint32_t>& one : all) {
      if (from < one.size()) {
        steps.batch_begin.push_back(here());
        const std::size_t n = std::min<std::size_t>(emitted.batch, one.size() - from);
        const auto begin = one.begin() + static_cast<std::ptrdiff_t>(from);
        steps.samples.insert(steps.samples.end(), begin, begin + static_cast<std::ptrdiff_t>(n));
      }
    }
  }
  steps.step_begin.push_back(here());
  steps.batch_begin.push_back(here());
  return steps;
}

}  // namespace

RanksQuality quality_of_ranks(const EmittedByRanks& emitted) {
  const std::vector<std::uint32_t> joined = by_place(emitted);
  const ShuffleQuality order = shuffle_quality({.samples = joined, .rank = emitted.reference});
  const Steps steps = steps_of(emitted);
  const auto label_mix = [&](const std::vector<std::uint32_t>& begins) {
    return shuffle_quality({.samples = steps.samples,
                            .batch_begin = begins,
                            .rank = emitted.reference,
                            .label = emitted.label})
        .label_mix;
  };
  return {order.displacement, order.spearman, order.neighbours, label_mix(steps.step_begin),
          label_mix(steps.batch_begin)};
}

}  // namespace blksweep
