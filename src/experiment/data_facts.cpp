#include "experiment/data_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "experiment/describe_host.h"
#include "loader/loader_data.h"
#include "os/block/layer_facts.h"

namespace blksweep {
namespace {

Json disk_facts(const Source& source) {
  Json out = Json::object();
  if (source.mount) {
    out["filesystem"] = source.mount->filesystem;
    out["mount_options"] = source.mount->options;
  }
  if (source.device) {
    out["device"] = source.device->node;
    for (const LayerFact& f : lasting(layers_now(source.device->disk))) {
      out["layers"].push_back(fmt::format("{} {}: {}", f.disk, f.name, f.value));
    }
  }
  for (const auto& [name, value] : queue_facts(source)) {
    out["queue"][name] = value;
  }
  return out;
}

// Of [begin, end) of a file what is neither a hole nor unwritten, for which nothing is read.
std::uint64_t written_within(const Catalog& catalog, std::uint32_t file, std::uint64_t begin,
                             std::uint64_t end) {
  std::uint64_t sum = 0;
  for (const ExtentRecord& e : catalog.extents_from(file, begin)) {
    if (e.file_offset >= end) {
      break;
    }
    const std::uint64_t from = std::max(begin, e.file_offset);
    const std::uint64_t to = std::min(end, align_up(e.file_end(), catalog.block_bytes));
    sum += (e.flags & kExtentUnwritten) == 0 && to > from ? to - from : 0;
  }
  return sum;
}

}  // namespace

std::uint64_t page_bytes(const Catalog& catalog, std::uint32_t align) {
  const std::uint64_t unit = align > 1 ? align : kPageBytes;
  const auto inode = [&](const Sample& s) { return catalog.files[s.file].inode; };
  std::vector<std::uint32_t> order(catalog.samples());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, {}, [&](std::uint32_t i) {
    const Sample s = catalog.sample(i);
    return std::pair(inode(s), s.offset);
  });
  std::uint64_t sum = 0, seen = 0, file = 0;
  for (const std::uint32_t i : order) {
    const Sample s = catalog.sample(i);
    seen = inode(s) == file ? seen : 0;
    file = inode(s);
    const std::uint64_t begin = std::max(seen, align_down(s.offset, unit));
    const std::uint64_t end = std::min(align_up(s.offset + s.length, unit),
                                       align_up(catalog.files[s.file].size, catalog.block_bytes));
    if (s.length > 0 && end > begin) {
      sum += written_within(catalog, s.file, begin, end);
      seen = end;
    }
  }
  return sum;
}

Json data_facts(const Source& source, std::uint32_t align) {
  return {{"data", source.catalog.root},
          {"data_identity", fmt::format("{:016x}", LoaderDataOf::source(source)->identity())},
          {"data_bytes", source.catalog.bytes().n},
          {"page_bytes", page_bytes(source.catalog, align)},
          {"disk", disk_facts(source)}};
}

}  // namespace blksweep
