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

bool Catalog::has_bytes() const {
  return std::ranges::any_of(whole, [&](const WholeSample& w) { return files[w.file].size > 0; }) ||
         std::ranges::any_of(parts, [](const PartSample& p) { return p.length > 0; });
}

}  // namespace blksweep
