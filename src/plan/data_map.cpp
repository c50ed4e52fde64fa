#include "plan/data_map.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace blksweep {
namespace {

constexpr double kMostOutside = 0.01;

// Of the extent what the file has, on the device.
ByteRange used_part(const ExtentRecord& e, const FileRecord& file) {
  const std::uint64_t end = std::min(e.file_end(), file.size);
  const std::uint64_t bytes = end > e.file_offset ? end - e.file_offset : 0;
  return {e.device_offset, e.device_offset + bytes};
}

// Sorted, and those that overlap or touch made one.
std::vector<ByteRange> joined(std::vector<ByteRange> all) {
  std::ranges::sort(all, {}, &ByteRange::begin);
  std::vector<ByteRange> out;
  for (const ByteRange& r : all) {
    if (!out.empty() && r.begin <= out.back().end) {
      out.back().end = std::max(out.back().end, r.end);
    } else {
      out.push_back(r);
    }
  }
  return out;
}

std::uint64_t sum(const std::vector<ByteRange>& ranges) {
  return std::transform_reduce(ranges.begin(), ranges.end(), std::uint64_t{0}, std::plus<>(),
                               [](const ByteRange& r) { return r.bytes(); });
}

}  // namespace

DataMap::DataMap(const Catalog& catalog, std::uint32_t align, std::uint64_t device_bytes)
    : align_(align) {
  const std::uint64_t end = align_down(device_bytes, align);
  std::uint64_t outside = 0;
  std::vector<ByteRange> used_ranges;
  for (const ExtentRecord& e : catalog.extents) {
    // An address is a number of bytes on the device; what is unaligned has one, too.
    if ((e.flags & ~std::uint32_t{kExtentShared | kExtentUnaligned}) != 0) {
      const bool hole = (e.flags & kExtentUnwritten) != 0;  // zeros, and no byte of the device
      outside += hole ? 0 : used_part(e, catalog.files[e.file]).bytes();
      continue;
    }
    const ByteRange used = used_part(e, catalog.files[e.file]);
    const ByteRange whole{align_down(used.begin, align), std::min(align_up(used.end, align), end)};
    if (used.begin < used.end && whole.begin < whole.end) {
      ranges_.push_back(whole);
      used_ranges.push_back(used);
    }
  }
  const std::uint64_t all_used = sum(used_ranges);
  const std::uint64_t read_again = all_used - sum(joined(std::move(used_ranges)));
  ranges_ = joined(std::move(ranges_));
  std::uint64_t bytes = 0;
  for (const ByteRange& r : ranges_) {
    ends_.push_back(bytes += r.bytes());
  }
  relate_to_samples(catalog, outside, read_again);
}

// A plan reads blocks that files share again for each of them.
void DataMap::relate_to_samples(const Catalog& catalog, std::uint64_t outside,
                                std::uint64_t read_again) {
  const std::uint64_t all =
      std::transform_reduce(catalog.files.begin(), catalog.files.end(), std::uint64_t{0},
                            std::plus<>(), [](const FileRecord& f) { return f.size; });
  if (bytes() > 0 &&  // so the files have some, too
      static_cast<double>(outside) <= kMostOutside * static_cast<double>(all)) {
    const double inside = static_cast<double>(all - outside) / static_cast<double>(all);
    samples_per_byte_ =
        static_cast<double>(catalog.bytes().n) * inside / static_cast<double>(bytes() + read_again);
  }
}

std::vector<ByteRange> DataMap::reads(std::uint32_t most) const {
  std::vector<ByteRange> out;
  for (const ByteRange& r : ranges_) {
    for (std::uint64_t at = r.begin; at < r.end; at += most) {
      out.push_back({at, std::min(at + most, r.end)});
    }
  }
  return out;
}

std::uint64_t DataMap::address(std::uint64_t n) const {
  const auto range = static_cast<std::size_t>(std::ranges::upper_bound(ends_, n) - ends_.begin());
  const std::uint64_t before = range == 0 ? 0 : ends_[range - 1];
  return ranges_[range].begin + (n - before);
}

}  // namespace blksweep
