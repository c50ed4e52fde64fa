#include "loader/settings.h"

namespace blksweep {
namespace {

// Enough for the later extents of fragmented files to be met, and little beside a window.
constexpr std::uint64_t kHorizon = std::uint64_t{4} << 20;

bool address_sorted(const LoaderSettings& settings) {
  return settings.order == Order::lba || settings.order == Order::chunked ||
         settings.sort_window.bytes.n > 0 || settings.sort_window.percent > 0;
}

}  // namespace

Bytes horizon_of(const LoaderSettings& settings) {
  if (settings.merge != Merge::device || !address_sorted(settings)) {
    return {0};
  }
  const std::uint64_t wanted = settings.merge_horizon.value_or(Bytes{kHorizon}).n;
  return {settings.order == Order::chunked ? std::min(wanted, settings.chunk.n) : wanted};
}

std::uint32_t submit_batch_of(const LoaderSettings& settings) {
  return settings.merge == Merge::kernel ? settings.merge_batch.of(settings.depth) : 0;
}

std::uint32_t refill_of(const LoaderSettings& settings) {
  return std::max(settings.refill.of(settings.depth), submit_batch_of(settings));
}

}  // namespace blksweep
