#include "dataset/catalog_summary.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

namespace blksweep {
namespace {

constexpr std::uint64_t kNone = ~std::uint64_t{0};

struct Ends {
  std::uint64_t first, last;  // device address of the first byte, and behind the last one
};

// Behind the sample's last byte; kNone when that byte has no address.
std::uint64_t end_address(const Catalog& c, const Sample& s) {
  const auto all = c.extents_of(s.file);
  const std::uint64_t end = s.offset + s.length;
  for (std::size_t i = all.size(); i > 0 && s.length > 0; --i) {
    const ExtentRecord& e = all[i - 1];
    if (e.file_offset < end) {
      const std::uint64_t address = e.file_end() >= end ? e.address_behind(end) : kNone;
      return address == kNone ? kNone : c.partition_start + address;
    }
  }
  return kNone;
}

std::optional<double> adjacent_share(const Catalog& c, std::span<const Ends> ends,
                                     std::span<const std::uint32_t> order) {
  std::uint64_t pairs = 0;
  std::uint64_t adjacent = 0;
  for (std::size_t i = 1; i < order.size(); ++i) {
    const std::uint64_t from = ends[order[i - 1]].last;
    const std::uint64_t to = ends[order[i]].first;
    if (from != kNone && to != kNone) {
      ++pairs;
      // A tail's block is not shared, so the next file starts at the next block's start.
      adjacent += to >= from && to - from < c.block_bytes ? 1U : 0U;
    }
  }
  return pairs == 0 ? std::nullopt
                    : std::optional(static_cast<double>(adjacent) / static_cast<double>(pairs));
}

void add_adjacency(const Catalog& c, CatalogSummary& out) {
  std::vector<Ends> ends(c.samples());
  std::vector<std::uint32_t> order(c.samples());
  for (std::uint32_t i = 0; i < ends.size(); ++i) {
    ends[i] = {c.first_address(i), end_address(c, c.sample(i))};
  }
  std::iota(order.begin(), order.end(), 0U);
  out.adjacent_path = adjacent_share(c, ends, order);
  std::ranges::stable_sort(order, {}, [&](auto i) { return c.files[c.sample(i).file].inode; });
  out.adjacent_inode = adjacent_share(c, ends, order);
  std::ranges::stable_sort(order, {}, [&](auto i) { return ends[i].first; });
  out.adjacent_lba = adjacent_share(c, ends, order);
}

void add_flags(const Catalog& c, CatalogSummary& out) {
  for (const ExtentRecord& e : c.extents) {
    const auto has = [&e](ExtentFlag f) { return (e.flags & f) != 0 ? 1U : 0U; };
    out.unwritten += has(kExtentUnwritten);
    out.inline_data += has(kExtentInline);
    out.encoded += has(kExtentEncoded);
    out.shared += has(kExtentShared);
    out.no_address += has(kExtentNoAddress);
    out.unaligned += has(kExtentUnaligned);
  }
}

void add_fragmentation(const Catalog& c, CatalogSummary& out) {
  std::uint64_t with_extents = 0;
  std::uint64_t fragmented = 0;
  for (std::uint32_t f = 0; f < c.files.size(); ++f) {
    const std::uint64_t n = c.extents_of(f).size();
    out.extents_max = std::max(out.extents_max, n);
    with_extents += n > 0 ? 1U : 0U;
    fragmented += n > 1 ? 1U : 0U;
  }
  if (with_extents > 0) {
    out.extents_mean = static_cast<double>(c.extents.size()) / static_cast<double>(with_extents);
    out.fragmented_share = static_cast<double>(fragmented) / static_cast<double>(c.files.size());
  }
}

}  // namespace

CatalogSummary summarize(const Catalog& c) {
  CatalogSummary out;
  out.files = c.files.size();
  out.samples = c.samples();
  out.bytes = c.bytes().n;
  out.extents = c.extents.size();
  out.labels = c.label_end.size();
  add_fragmentation(c, out);
  add_flags(c, out);
  add_adjacency(c, out);
  return out;
}

}  // namespace blksweep
