// What a catalog looks like from outside: fragmentation, and how far each order follows the device.
//
// Adjacent: the next sample of the order begins in the same block as, or the block after, the last
//           byte of the sample before it. Shares are of neighbouring pairs whose addresses are
//           known; unknown (no such pair) is nullopt.
// Threads:  pure.
#pragma once

#include <cstdint>
#include <optional>

#include "plan/catalog.h"

namespace blksweep {

struct CatalogSummary {
  std::uint64_t files = 0, samples = 0, bytes = 0, extents = 0, labels = 0;
  double extents_mean = 0;  // per file that has any
  std::uint64_t extents_max = 0;
  double fragmented_share = 0;  // of files: more than one extent
  std::optional<double> adjacent_path, adjacent_inode, adjacent_lba;
  // Extents by flag; one extent may count in several.
  std::uint64_t unwritten = 0, inline_data = 0, encoded = 0, shared = 0, no_address = 0,
                unaligned = 0;
};

CatalogSummary summarize(const Catalog& catalog);

}  // namespace blksweep
