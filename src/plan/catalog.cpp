#include "plan/catalog.h"

#include <algorithm>

namespace blksweep {
namespace {

std::string_view slice(std::span<const std::uint32_t> ends, std::string_view bytes,
                       std::uint32_t i) {
  const std::uint32_t begin = i == 0 ? 0 : ends[i - 1];
  return bytes.substr(begin, ends[i] - begin);
}

}  // namespace

Sample Catalog::sample(std::uint32_t index) const {
  if (index < whole.size()) {
    const WholeSample& w = whole[index];
    return {w.file, w.label, 0, share.of(files[w.file].size)};
  }
  const PartSample& p = parts[index - whole.size()];
  return {p.file, p.label, p.offset, share.of(p.length)};
}

std::span<const ExtentRecord> Catalog::extents_of(std::uint32_t file) const {
  const std::size_t begin = files[file].first_extent;
  const std::size_t end = file + 1 < files.size() ? files[file + 1].first_extent : extents.size();
  return extents.subspan(begin, end - begin);
}

std::string_view Catalog::path(std::uint32_t file) const {
  return slice(path_end, path_bytes, file);
}

std::string Catalog::full_path(std::uint32_t file) const {
  return std::string(root).append("/").append(path(file));
}

std::string_view Catalog::label(std::uint32_t label) const {
  return label == kNoLabel ? std::string_view{} : slice(label_end, label_bytes, label);
}

Bytes Catalog::bytes() const {
  Bytes sum;
  for (const WholeSample& w : whole) {
    sum.n += share.of(files[w.file].size);
  }
  for (const PartSample& p : parts) {
    sum.n += share.of(p.length);
  }
  return sum;
}

std::uint64_t Catalog::first_address(std::uint32_t index) const {
  const Sample s = sample(index);
  const auto all = extents_of(s.file);
  // First extent that ends behind the sample's start.
  const auto* it = std::ranges::upper_bound(all, s.offset, {}, &ExtentRecord::file_end).base();
  if (it == all.data() + all.size() || it->file_offset >= s.offset + s.length ||
      !it->has_address()) {
    return ~std::uint64_t{0};
  }
  const std::uint64_t inside = s.offset > it->file_offset ? s.offset - it->file_offset : 0;
  return partition_start + it->device_offset + inside;
}

}  // namespace blksweep
