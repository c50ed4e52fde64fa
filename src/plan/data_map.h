// DataMap: where on its device the data of a catalog lie, and the reads that cover exactly that.
//
// What a run's throughput is held against must be read from the same addresses: the rest of a
// device may be empty (a sparse image, trimmed flash answer without a medium) or in another zone.
//
// Left out:  extents that do not hold the file's bytes on the device (inline, compressed,
//            unwritten, without an address), and what lies behind the end of a file.
// Units:     bytes from the beginning of the catalog's block device; ranges are rounded outwards to
//            `align`, ascending, and neither overlap nor touch.
// Threads:   pure; read only.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/byte_range.h"
#include "plan/catalog.h"

namespace blksweep {

class DataMap {
 public:
  // What reaches behind `device_bytes` is cut off. REQUIRES: `align` is a power of two.
  DataMap(const Catalog& catalog, std::uint32_t align, std::uint64_t device_bytes);

  const std::vector<ByteRange>& ranges() const { return ranges_; }
  std::uint64_t bytes() const { return ends_.empty() ? 0 : ends_.back(); }
  std::uint32_t align() const { return align_; }
  // Bytes of samples for each byte that a plan reads of these ranges: above 1 where files have
  // holes, below where they end within a block; what files share is read for each of them. Nothing
  // where more than 1 % of the files' bytes lie outside.
  std::optional<double> samples_per_byte() const { return samples_per_byte_; }
  // Everything once, in address order, in reads of at most `most` bytes that end with their range.
  std::vector<ByteRange> reads(std::uint32_t most) const;
  // Byte `n` of the data, counted over the ranges. REQUIRES: n < bytes().
  std::uint64_t address(std::uint64_t n) const;

 private:
  void relate_to_samples(const Catalog& catalog, std::uint64_t outside, std::uint64_t read_again);

  std::uint32_t align_;
  std::optional<double> samples_per_byte_;
  std::vector<ByteRange> ranges_;
  std::vector<std::uint64_t> ends_;  // by range: bytes up to its end
};

}  // namespace blksweep
