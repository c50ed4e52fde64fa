#include "dataset/planned.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "dataset/make_writers.h"

namespace blksweep {
namespace {

constexpr std::uint64_t kFirstByte = std::uint64_t{64} << 20;  // tables and journal lie before

std::uint64_t in_blocks(std::uint64_t bytes) {
  return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

std::vector<std::uint64_t> places(const std::vector<std::uint64_t>& sizes,
                                  const std::vector<std::uint64_t>& order) {
  std::vector<std::uint64_t> at(sizes.size());
  std::uint64_t next = kFirstByte;
  for (const std::uint64_t number : order) {
    at[number] = next;
    next += in_blocks(sizes[number]);
  }
  return at;
}

}  // namespace

std::optional<CatalogParts> planned_catalog(const MakeSettings& settings) {
  if (settings.format != PackFormat::files || settings.fragment > 1) {
    return std::nullopt;
  }
  const std::vector<std::uint64_t> sizes = draw_sizes(settings);
  const std::vector<std::uint64_t> order = creation_order(settings);
  const std::vector<std::uint64_t> at = places(sizes, order);
  std::vector<std::uint64_t> inode(sizes.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    inode[order[i]] = i + 1;
  }
  std::vector<std::string> paths;
  for (std::uint64_t n = 0; n < sizes.size(); ++n) {
    paths.push_back(sample_path(n, settings.classes));
  }
  std::vector<std::uint64_t> by_path(sizes.size());
  std::iota(by_path.begin(), by_path.end(), std::uint64_t{0});
  std::ranges::sort(by_path, {}, [&](std::uint64_t n) -> const std::string& { return paths[n]; });
  CatalogParts catalog;
  catalog.root = "/planned";
  catalog.device_readable = true;
  for (std::uint32_t file = 0; file < by_path.size(); ++file) {
    const std::uint64_t n = by_path[file];
    catalog.add_file({inode[n], sizes[n], 0, 0, 0, file}, paths[n]);
    if (sizes[n] > 0) {
      catalog.extents.push_back({0, at[n], in_blocks(sizes[n]), 0, file});
    }
    catalog.whole.push_back({file, kNoLabel});
  }
  return catalog;
}

}  // namespace blksweep
