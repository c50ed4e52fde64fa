#include "loader/decoded_sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <vector>

#include "dataset/pack_index.h"

namespace blksweep {
namespace {

Result<std::vector<std::uint64_t>> decoded_sizes(const Catalog& catalog) {
  BLKSWEEP_CHECK(refuse_cut_off_pack(std::string(catalog.root)));
  const std::string path = pack_index_path(catalog.root);
  std::error_code ec;
  if (!std::filesystem::exists(path, ec)) {
    return fail(
        fmt::format("--decode-threads: {} is no packed data set (no {}): name the folder "
                    "that blksweep dataset pack made",
                    catalog.root, path));
  }
  BLKSWEEP_TRY(const PackIndex index, PackIndex::load(path));
  std::vector<std::uint64_t> sizes(catalog.samples());
  for (std::uint32_t i = 0; i < sizes.size(); ++i) {
    const Sample s = catalog.sample(i);
    const auto bytes = index.bytes_of(catalog.path(s.file), s.offset);
    if (!bytes) {
      return fail(
          fmt::format("--decode-threads: {} at byte {} is not in {}: it was added later; "
                      "remove it, or pack again",
                      catalog.full_path(s.file), s.offset, path));
    }
    sizes[i] = *bytes;
  }
  return sizes;
}

}  // namespace

Result<std::vector<std::uint64_t>> decoded_by_emission(const Catalog& catalog, const Plan& plan,
                                                       const Schedule& schedule) {
  BLKSWEEP_TRY(const std::vector<std::uint64_t> sizes, decoded_sizes(catalog));
  std::vector<std::uint64_t> emitted(schedule.emission.size());
  std::ranges::transform(schedule.emission, emitted.begin(),
                         [&](std::uint32_t position) { return sizes[plan.order[position]]; });
  return emitted;
}

Result<std::vector<std::uint64_t>> stored_by_emission(const Catalog& catalog, const Plan& plan,
                                                      const Schedule& schedule) {
  std::vector<std::uint64_t> emitted(schedule.emission.size());
  std::ranges::transform(schedule.emission, emitted.begin(), [&](std::uint32_t position) {
    return catalog.sample(plan.order[position]).length;
  });
  return emitted;
}

Bytes largest_decoded_batch(std::span<const std::uint64_t> by_emission, const Schedule& schedule) {
  std::uint64_t most = 0;
  for (std::size_t b = 0; b < schedule.batches(); ++b) {
    const auto batch = by_emission.subspan(schedule.batch_begin[b],
                                           schedule.batch_begin[b + 1] - schedule.batch_begin[b]);
    most = std::max(most, std::accumulate(batch.begin(), batch.end(), std::uint64_t{0}));
  }
  return {most};
}

}  // namespace blksweep
