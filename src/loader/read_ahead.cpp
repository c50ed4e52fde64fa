#include "loader/read_ahead.h"

#include <algorithm>
#include <limits>

namespace blksweep {
namespace {

constexpr std::uint64_t kLongReads = 8;  // four in flight, and four that are ready
constexpr std::uint64_t kLeastDepth = 2;

std::uint64_t up(std::uint64_t n, std::uint64_t by) { return (n + by - 1) / by; }

}  // namespace

std::uint32_t chosen_prefetch(const Catalog& catalog, const LoaderSettings& settings) {
  const std::uint64_t samples = std::max<std::uint64_t>(1, catalog.samples());
  const std::uint64_t sample = std::max<std::uint64_t>(1, catalog.bytes().n / samples);
  const bool merges = settings.merge == Merge::file || settings.merge == Merge::device;
  const std::uint64_t longest = merges ? settings.merge_max.n : sample;
  // No read is longer than that, nor than the data.
  const std::uint64_t read = std::min({longest, settings.merge_max.n, samples * sample});
  const std::uint64_t ahead = up(std::min(kLongReads * read, samples * sample), sample);
  const std::uint64_t batches = settings.workers > 0 ? 0 : up(ahead, std::max(1U, settings.batch));
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(batches, kLeastChosenPrefetch, kMost));
}

std::uint32_t chosen_depth(const Plan& plan, const LoaderSettings& settings) {
  if (settings.merge == Merge::kernel || settings.workers > 0) {
    return kMostChosenDepth;
  }
  const std::uint64_t batches = std::max<std::uint64_t>(1, up(plan.order.size(), settings.batch));
  const std::uint64_t half =
      plan.reads.size() * (std::uint64_t{settings.prefetch} + 1) / (2 * batches);
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(half, kLeastDepth, kMostChosenDepth));
}

}  // namespace blksweep
