#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "dataset/catalog_file.h"

namespace blksweep {
namespace {

constexpr std::uint64_t kMaxOffset = std::uint64_t{1} << 62;  // sums of two stay below 2^63
constexpr std::uint32_t kKnownFlags = kExtentUnwritten | kExtentInline | kExtentEncoded |
                                      kExtentShared | kExtentNoAddress | kExtentUnaligned;

Result<> check_ends(std::span<const std::uint32_t> ends, std::string_view bytes, const char* what) {
  std::uint32_t last = 0;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (ends[i] <= last || ends[i] > bytes.size()) {
      return fail(fmt::format("{} {}: empty, or outside its section", what, i));
    }
    last = ends[i];
  }
  if (last != bytes.size() || bytes.find('\0') != std::string_view::npos) {
    return fail(fmt::format("{}s: bytes that belong to none, or a zero byte", what));
  }
  return {};
}

// "a/../b", "..": a scan writes none.
bool climbs(std::string_view path) {
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    if (path.substr(at, end - at) == "..") {
      return true;
    }
    at = end + 1;
  }
  return false;
}

Result<> check_paths(const Catalog& c) {
  BLKSWEEP_CHECK(check_ends(c.path_end, c.path_bytes, "path"));
  for (std::uint32_t i = 0; i < c.files.size(); ++i) {
    if (c.path(i).front() == '/' || (i > 0 && c.path(i - 1) >= c.path(i))) {
      return fail(fmt::format("path {}: absolute, or not in ascending order", i));
    }
    if (climbs(c.path(i))) {
      return fail(fmt::format("path {}: leads out of the data set (..)", i));
    }
  }
  return check_ends(c.label_end, c.label_bytes, "label");
}

Result<> check_files(const Catalog& c) {
  std::uint32_t last = 0;
  for (std::size_t i = 0; i < c.files.size(); ++i) {
    const FileRecord& f = c.files[i];
    const bool starts_right = i > 0 || f.first_extent == 0;
    if (f.size >= kMaxOffset || f.first_extent < last || f.first_extent > c.extents.size() ||
        !starts_right) {
      return fail(fmt::format("file {}: size or extents out of range", i));
    }
    last = f.first_extent;
  }
  if (c.files.empty() && !c.extents.empty()) {
    return fail("extents without a file");
  }
  return {};
}

Result<> check_extents(const Catalog& c) {
  for (std::uint32_t file = 0; file < c.files.size(); ++file) {
    std::uint64_t covered = 0;
    for (const ExtentRecord& e : c.extents_of(file)) {
      const bool in_range = e.file_offset < c.files[file].size && e.length > 0 &&
                            e.length < kMaxOffset && e.device_offset < kMaxOffset;
      if (!in_range || e.file != file || (e.flags & ~kKnownFlags) != 0) {
        return fail(fmt::format("extent {}: out of range", &e - c.extents.data()));
      }
      if (e.file_offset < covered) {
        return fail(fmt::format("extent {}: overlaps the one before", &e - c.extents.data()));
      }
      covered = e.file_end();
    }
  }
  return {};
}

Result<> check_sample(const Catalog& c, std::uint64_t number) {
  const auto index = static_cast<std::uint32_t>(number);
  const bool is_part = index >= c.whole.size();
  const std::uint32_t file = is_part ? c.parts[index - c.whole.size()].file : c.whole[index].file;
  if (file >= c.files.size()) {
    return fail(fmt::format("sample {}: its file does not exist", number));
  }
  const Sample s = c.sample(index);
  const std::uint64_t size = c.files[file].size;
  if (s.length > kMaxSampleBytes || s.offset > size || s.length > size - s.offset) {
    return fail(fmt::format("sample {}: larger than allowed, or past the end of its file", number));
  }
  if (s.label != kNoLabel && s.label >= c.label_end.size()) {
    return fail(fmt::format("sample {}: its label does not exist", number));
  }
  return {};
}

Result<> check_samples(const Catalog& c) {
  if (c.samples() >= std::numeric_limits<std::uint32_t>::max()) {
    return fail("more samples than a 32-bit number can name");
  }
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < c.samples(); ++i) {
    BLKSWEEP_CHECK(check_sample(c, i));
    sum += c.sample(static_cast<std::uint32_t>(i)).length;  // < 2^32 * 2^32
  }
  return sum < kMaxOffset ? Result<>{} : fail("samples: their sum is out of range");
}

}  // namespace

Result<> validate_catalog(const Catalog& c) {
  if (c.path_end.size() != c.files.size()) {
    return fail("as many paths as files are needed");
  }
  if (!std::has_single_bit(c.block_bytes) || c.block_bytes < kSectorBytes ||
      c.block_bytes > (1U << 26) || c.partition_start >= kMaxOffset) {
    return fail("header: block size or partition start out of range");
  }
  if (!c.root.starts_with('/') || c.root.find('\0') != std::string_view::npos) {
    return fail("header: the root is not an absolute path");
  }
  BLKSWEEP_CHECK(check_paths(c));
  BLKSWEEP_CHECK(check_files(c));
  BLKSWEEP_CHECK(check_extents(c));
  return check_samples(c);
}

}  // namespace blksweep
