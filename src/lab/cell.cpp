#include "lab/cell.h"

namespace blksweep {
namespace {

// Enough for the later extents of fragmented files to be met, and little beside a window.
constexpr std::uint64_t kHorizon = std::uint64_t{4} << 20;

bool address_sorted(const CellSettings& cell) {
  return cell.order == Order::lba || cell.order == Order::chunked || cell.sort_window.bytes.n > 0 ||
         cell.sort_window.percent > 0;
}

}  // namespace

Bytes horizon_of(const CellSettings& cell) {
  if (cell.merge != Merge::device || !address_sorted(cell)) {
    return {0};
  }
  const std::uint64_t wanted = cell.merge_horizon.value_or(Bytes{kHorizon}).n;
  return {cell.order == Order::chunked ? std::min(wanted, cell.chunk.n) : wanted};
}

std::uint32_t submit_batch_of(const CellSettings& cell) {
  return cell.merge == Merge::kernel ? cell.merge_batch.of(cell.depth) : 0;
}

std::uint32_t refill_of(const CellSettings& cell) {
  return std::max(cell.refill.of(cell.depth), submit_batch_of(cell));
}

}  // namespace blksweep
