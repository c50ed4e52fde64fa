#include "experiment/probes.h"

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

Result<std::unique_ptr<CacheProbe>> open_cache(const Catalog& catalog) {
  if (catalog.links_followed) {
    return unsupported("the catalog follows symbolic links, which may lead to other filesystems");
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
