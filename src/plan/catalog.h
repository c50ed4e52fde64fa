// Catalog: all samples of a data set with their extents, as planning sees them.
//
// A Catalog is a view: spans over memory that somebody else owns (a mapped catalog file, or vectors
// in a test). The records below are the on-disk layout too (docs/catalog-format.md), little endian.
//
// Units:     offsets and lengths are bytes. device_offset counts from the start of the filesystem's
//            block device; add partition_start for the whole disk. lba() is the 512-byte sector on
//            the whole disk.
// Order:     files are sorted by path (bytewise), so file index order is `path` order. extents are
//            sorted by (file, file_offset) and do not overlap inside a file; holes are absent.
// Samples:   0 .. whole.size()-1 are whole files, the rest are parts (tar members, records).
// Ownership: the spans' owner outlives the view and every Plan made from it.
// Threads:   read only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/units.h"

namespace blksweep {

enum ExtentFlag : std::uint32_t {
  kExtentUnwritten = 1,   // allocated, reads as zeros
  kExtentInline = 2,      // data inside the inode or a metadata block
  kExtentEncoded = 4,     // compressed or encrypted: the device holds other bytes
  kExtentShared = 8,      // reflinked: several files point here
  kExtentNoAddress = 16,  // device_offset is meaningless (FIEMAP refused, other device, not mapped)
  kExtentUnaligned = 32,  // device_offset or file_offset is not a multiple of the device's block
};

struct ExtentRecord {
  std::uint64_t file_offset;
  std::uint64_t device_offset;
  std::uint64_t length;
  std::uint32_t flags;  // ExtentFlag bits
  std::uint32_t file;
  std::uint64_t file_end() const { return file_offset + length; }
  // The bytes on the device are the file's bytes and may be read from there.
  bool on_device() const { return kind() == 0; }
  // The flags, but for who else points here: a copy by reflink or a snapshot moves nothing.
  std::uint32_t kind() const { return flags & ~std::uint32_t{kExtentShared}; }
  bool has_address() const { return (flags & (kExtentNoAddress | kExtentInline)) == 0; }
  // Where a byte of the file lies, with has_address(). Of compressed bytes only their begin is
  // known.
  std::uint64_t address_of(std::uint64_t offset) const {
    return device_offset + ((flags & kExtentEncoded) != 0 ? 0 : offset - file_offset);
  }
  // Behind the byte before `end` on the device; ~0: not known.
  std::uint64_t address_behind(std::uint64_t end) const {
    return has_address() && (flags & kExtentEncoded) == 0 ? address_of(end) : ~std::uint64_t{0};
  }
};
static_assert(sizeof(ExtentRecord) == 32);

struct FileRecord {
  std::uint64_t inode;
  std::uint64_t size;
  std::int64_t mtime_ns;
  std::int64_t ctime_ns;
  std::uint32_t first_extent;    // this file's extents end where the next file's begin
  std::uint32_t directory_rank;  // position in readdir order, directory by directory
};
static_assert(sizeof(FileRecord) == 40);

struct WholeSample {
  std::uint32_t file;
  std::uint32_t label;
};
struct PartSample {
  std::uint64_t offset;  // in the file
  std::uint64_t length;
  std::uint32_t file;
  std::uint32_t label;
};
static_assert(sizeof(WholeSample) == 8 && sizeof(PartSample) == 24);

inline constexpr std::uint32_t kNoLabel = 0xFFFFFFFF;
// A sample must fit a 32-bit length with room for alignment.
inline constexpr std::uint64_t kMaxSampleBytes = (std::uint64_t{1} << 32) - (1U << 20);

// One sample, decoded.
struct Sample {
  std::uint32_t file;
  std::uint32_t label;
  std::uint64_t offset;
  std::uint64_t length;
};

// What of each sample is read: its first part, as progressive formats allow. Rounded up to whole
// bytes: of a sample that has any, one at least.
struct ReadShare {
  static constexpr std::uint32_t kAll = 1'000'000;
  std::uint32_t millionths = kAll;

  constexpr bool all() const { return millionths == kAll; }
  constexpr std::uint64_t of(std::uint64_t length) const {  // of a sample: below 2^32
    return all() ? length : (length * millionths + kAll - 1) / kAll;
  }
  constexpr bool operator==(const ReadShare&) const = default;
};

struct Catalog {
  std::span<const FileRecord> files;
  std::span<const ExtentRecord> extents;
  std::span<const WholeSample> whole;
  std::span<const PartSample> parts;
  std::span<const std::uint32_t> path_end;   // per file: end of its path in path_bytes
  std::string_view path_bytes;               // relative to root, no separators between
  std::span<const std::uint32_t> label_end;  // per label: end of its name in label_bytes
  std::string_view label_bytes;
  std::string_view root;                   // absolute path of the data set's directory
  std::uint64_t device = 0;                // st_dev of the filesystem
  std::uint64_t partition_start = 0;       // bytes from the start of the whole disk
  std::uint32_t block_bytes = kPageBytes;  // filesystem block
  bool device_readable = false;  // extents' addresses may be read on the device (ext4, xfs)
  ReadShare share = {};          // of each sample: its length, and what bytes() sums up
  bool links_followed = false;   // paths may lead out of the directory through symbolic links

  std::size_t samples() const { return whole.size() + parts.size(); }
  Sample sample(std::uint32_t index) const;
  std::span<const ExtentRecord> extents_of(std::uint32_t file) const;
  // From the first extent that ends behind `offset` on.
  std::span<const ExtentRecord> extents_from(std::uint32_t file, std::uint64_t offset) const;
  std::string_view path(std::uint32_t file) const;  // relative to root
  std::string full_path(std::uint32_t file) const;
  std::string_view label(std::uint32_t label) const;  // "" for kNoLabel
  Bytes bytes() const;                                // sum of sample lengths: goes through all
  bool has_bytes() const;                             // whether any sample has one
  // Device byte offset (from the whole disk's start) of the sample's first byte that has an
  // address; ~0 when none has, which sorts it behind all others.
  std::uint64_t first_address(std::uint32_t sample) const;
  // The same of any bytes of a file.
  std::uint64_t address_of(std::uint32_t file, std::uint64_t offset, std::uint64_t length) const;
};

// In the header: planning asks for each sample several times.
inline Sample Catalog::sample(std::uint32_t index) const {
  if (index < whole.size()) {
    const WholeSample& w = whole[index];
    return {w.file, w.label, 0, share.of(files[w.file].size)};
  }
  const PartSample& p = parts[index - whole.size()];
  return {p.file, p.label, p.offset, share.of(p.length)};
}

inline std::span<const ExtentRecord> Catalog::extents_of(std::uint32_t file) const {
  const std::size_t begin = files[file].first_extent;
  const std::size_t end = file + 1 < files.size() ? files[file + 1].first_extent : extents.size();
  return extents.subspan(begin, end - begin);
}

inline std::span<const ExtentRecord> Catalog::extents_from(std::uint32_t file,
                                                           std::uint64_t offset) const {
  const auto all = extents_of(file);
  const auto ends_by = [](const ExtentRecord& e, std::uint64_t at) { return e.file_end() <= at; };
  if (all.empty() || !ends_by(all.front(), offset)) {
    return all;
  }
  return {std::lower_bound(all.begin(), all.end(), offset, ends_by), all.end()};
}

inline std::uint64_t Catalog::first_address(std::uint32_t index) const {
  const Sample s = sample(index);
  return address_of(s.file, s.offset, s.length);
}

inline std::uint64_t Catalog::address_of(std::uint32_t file, std::uint64_t offset,
                                         std::uint64_t length) const {
  const auto there = extents_from(file, offset);
  if (there.empty() || there.front().file_offset >= offset + length ||
      !there.front().has_address()) {
    return ~std::uint64_t{0};
  }
  const ExtentRecord& e = there.front();
  return partition_start + e.address_of(std::max(offset, e.file_offset));
}

}  // namespace blksweep
