#include "experiment/record/quality.h"

#include <algorithm>

#include "stats/shuffle_quality.h"

namespace blksweep {
namespace {

// Batch boundaries up to `samples` emissions; failed samples make a batch shorter than planned,
// which moves later boundaries by as much: negligible for a mean over batches, and such a run is
// incomplete.
std::vector<std::uint32_t> batches_within(const Schedule& schedule, std::size_t samples) {
  std::vector<std::uint32_t> out;
  for (const std::uint32_t begin : schedule.batch_begin) {
    if (begin < samples) {
      out.push_back(begin);
    }
  }
  out.push_back(static_cast<std::uint32_t>(samples));
  return out;
}

}  // namespace

std::vector<std::uint32_t> reference_rank(const Catalog& catalog, Order order) {
  const bool drawn = order == Order::random || in_chunks(order);
  OrderSettings settings;
  settings.order = drawn ? Order::lba : order;
  const std::vector<std::uint32_t> fixed = make_order(catalog, settings);
  std::vector<std::uint32_t> rank(fixed.size());
  for (std::uint32_t r = 0; r < fixed.size(); ++r) {
    rank[fixed[r]] = r;
  }
  return rank;
}

QualityRecord quality_of(const Catalog& catalog, Order order, const PlannedEpoch& planned,
                         std::span<const std::uint32_t> emitted) {
  const std::size_t one_epoch = catalog.samples();
  const std::span<const std::uint32_t> first = emitted.first(std::min(one_epoch, emitted.size()));
  const std::vector<std::uint32_t> batches = batches_within(planned.schedule, first.size());
  const std::vector<std::uint32_t> rank = reference_rank(catalog, order);
  std::vector<std::uint32_t> labels(one_epoch);
  for (std::uint32_t s = 0; s < one_epoch; ++s) {
    labels[s] = catalog.sample(s).label;
  }
  const ShuffleQuality q = shuffle_quality(
      {.samples = first,
       .batch_begin = batches,
       .rank = rank,
       .label = catalog.label_end.empty() ? std::span<const std::uint32_t>{} : labels,
       .read_order = std::span(planned.plan.order).first(first.empty() ? 0 : one_epoch)});
  return {q.displacement, q.spearman, q.neighbours, q.label_mix, q.spearman_vs_read};
}

}  // namespace blksweep
