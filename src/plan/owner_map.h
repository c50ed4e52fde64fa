// OwnerMap: from bytes of the whole disk back to the file, the place in it and the sample that
// lie there, by a catalog. The way back from a request of the block layer to what it was for.
//
// Nobody:    bytes that no extent of the catalog covers: metadata, other files, free space. What a
//            read of the plan takes in on its way from one extent to the next is nobody's, planned.
// No sample: bytes of a file's extent that belong to no sample: what is between its parts and
//            behind a read share, and the rest of the last block.
// Left out:  extents without an address, inside metadata, or encoded: the device holds other bytes.
// Shared:    what several files (reflinks) or samples share is told of one of them.
// Memory:    32 bytes for each run of bytes of one sample.
// Threads:   pure; read only when built.
#pragma once

#include <cstdint>
#include <vector>

#include "base/byte_range.h"
#include "plan/catalog.h"
#include "plan/plan.h"

namespace blksweep {

inline constexpr std::uint32_t kNobody = 0xFFFFFFFF;

struct OwnedPart {
  std::uint64_t begin = 0, end = 0;  // of the whole disk
  std::uint64_t file_offset = 0;     // of `begin`
  std::uint32_t file = kNobody;      // of the catalog
  std::uint32_t sample = kNobody;    // likewise
  bool planned = false;              // nobody's, and read on purpose
  std::uint64_t bytes() const { return end - begin; }
};

class OwnerMap {
 public:
  explicit OwnerMap(const Catalog& catalog);
  // Also knows what the plan's reads of the device take in between extents.
  OwnerMap(const Catalog& catalog, const Plan& plan);

  // Appends the parts of `range`, in address order: they cover it, and do not overlap.
  void append_parts(const ByteRange& range, std::vector<OwnedPart>& out) const;

 private:
  struct Stretch {
    std::uint64_t begin, end, file_offset;
    std::uint32_t file, sample;
  };
  struct SampleRange {
    std::uint64_t begin, end;  // of the file
    std::uint32_t sample;
  };

  void add_extent(const ExtentRecord& e, std::uint64_t partition_start,
                  const std::vector<SampleRange>& samples);
  void add_stretch(const ExtentRecord& e, std::uint64_t partition_start, const SampleRange& range);
  void sort_apart();
  void append_nobody(const ByteRange& range, std::vector<OwnedPart>& out) const;

  std::vector<Stretch> stretches_;  // by address, disjoint
  std::vector<ByteRange> planned_;  // likewise: what the plan reads of the device
};

}  // namespace blksweep
