#include "experiment/probes.h"

#include <fmt/format.h>

#include <string>
#include <unordered_map>
#include <utility>

namespace blksweep {
namespace {

constexpr const char* kNoBlock = "no probe, so no queue depth or request sizes: ";
constexpr const char* kNoCache = "no cache probe, so no hits and evictions: ";

template <class Probe>
void take(Result<std::unique_ptr<Probe>> opened, const char* without, std::unique_ptr<Probe>& to,
          std::vector<std::string>& refused) {
  if (opened) {
    to = *std::move(opened);
  } else {
    refused.push_back(without + opened.error().message());
  }
}

Result<std::unique_ptr<BlockProbe>> open_block(const Source& source, const ProbeWishes& wishes) {
  if (!source.device) {
    return unsupported("the data set has no block device");
  }
  return open_block_probe(
      source.device->whole_disk,
      {.requests = wishes.requests, .layers = wishes.layers, .origins = wishes.layers});
}

// Names of one file have its size and its times; else there are several filesystems, or subvolumes
// of btrfs, and an inode's number does not say whose page it is. "": nothing of the kind.
std::string two_of_one_inode(const Catalog& catalog) {
  std::unordered_map<std::uint64_t, std::uint32_t> first;
  for (std::uint32_t i = 0; i < catalog.files.size(); ++i) {
    const FileRecord& f = catalog.files[i];
    const FileRecord& g = catalog.files[first.try_emplace(f.inode, i).first->second];
    if (f.size != g.size || f.mtime_ns != g.mtime_ns || f.ctime_ns != g.ctime_ns) {
      return fmt::format(
          "{} and {} are two files of inode number {}: the data set lies on several subvolumes or "
          "filesystems",
          catalog.path(first.at(f.inode)), catalog.path(i), f.inode);
    }
  }
  return {};
}

Result<std::unique_ptr<CacheProbe>> open_cache(const Catalog& catalog) {
  if (catalog.links_followed) {
    return unsupported("the catalog follows symbolic links, which may lead to other filesystems");
  }
  if (const std::string two = two_of_one_inode(catalog); !two.empty()) {
    return unsupported(two);
  }
  std::vector<WatchedFile> files;
  files.reserve(catalog.files.size());
  for (const FileRecord& f : catalog.files) {
    files.push_back({f.inode, f.size});
  }
  return open_cache_probe({.root = std::string(catalog.root), .files = files});
}

}  // namespace

Probes open_probes(const Source& source, const ProbeWishes& wishes) {
  Probes probes;
  if (wishes.block) {
    take(open_block(source, wishes), kNoBlock, probes.block, probes.refused);
  }
  if (wishes.cache) {
    take(open_cache(source.catalog), kNoCache, probes.cache, probes.refused);
  }
  return probes;
}

}  // namespace blksweep
