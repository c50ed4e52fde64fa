#include "mpi/shared_data.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "dataset/catalog_check.h"
#include "dataset/catalog_file.h"
#include "loader/loader_data.h"
#include "os/file/file.h"

namespace blksweep {
namespace {

template <class T>
std::vector<T> owned(std::span<const T> records) {
  return {records.begin(), records.end()};
}

Result<std::string> bytes_of(const Catalog& c) {
  CatalogParts parts;
  parts.files = owned(c.files);
  parts.extents = owned(c.extents);
  parts.whole = owned(c.whole);
  parts.parts = owned(c.parts);
  parts.path_end = owned(c.path_end);
  parts.path_bytes = c.path_bytes;
  parts.label_end = owned(c.label_end);
  parts.label_bytes = c.label_bytes;
  parts.root = c.root;
  parts.device = c.device;
  parts.partition_start = c.partition_start;
  parts.block_bytes = c.block_bytes;
  parts.device_readable = c.device_readable;
  parts.links_followed = c.links_followed;
  return encode_catalog(parts);
}

// In memory, under a name that opens it.
Result<CatalogFile> catalog_of(const std::string& bytes) {
  const Fd fd(::memfd_create("catalog", MFD_CLOEXEC));
  if (!fd) {
    return sys_error(errno, "memfd_create");
  }
  BLKSWEEP_CHECK(write_full(fd.get(), std::as_bytes(std::span(bytes)), "the catalog of rank 0"));
  return CatalogFile::open(fmt::format("/proc/self/fd/{}", fd.get()));
}

// The first file, in the order of paths, that only one of them has or that is of another size.
std::string first_difference(const Catalog& theirs, const Catalog& mine) {
  for (std::uint32_t f = 0; f < std::max(theirs.files.size(), mine.files.size()); ++f) {
    const std::string_view there = f < theirs.files.size() ? theirs.path(f) : "";
    const std::string_view here = f < mine.files.size() ? mine.path(f) : "";
    if (there != here) {
      const bool more = there.empty() || (!here.empty() && here < there);
      return more ? fmt::format("{} is here alone", here) : fmt::format("{} is not here", there);
    }
    if (theirs.files[f].size != mine.files[f].size) {
      return fmt::format("{}: {} bytes, not {}", here, format_count(mine.files[f].size),
                         format_count(theirs.files[f].size));
    }
  }
  return "samples or labels within the files";
}

// Files of other inodes: a copy of the data set, or another one.
Result<SharedData> open_copy(const Catalog& first) {
  BLKSWEEP_TRY(Source mine, open_source({std::string(first.root), "", first.links_followed}));
  Source theirs;
  theirs.catalog = first;
  const auto id = [](Source s) { return LoaderDataOf::source(std::move(s))->identity(); };
  if (id(mine) != id(theirs)) {
    return fail(fmt::format("its data in {} are not those of rank 0: {}", first.root,
                            first_difference(first, mine.catalog)));
  }
  return SharedData{std::move(mine), true};
}

Result<SharedData> open_here(const std::string& bytes) {
  BLKSWEEP_TRY(CatalogFile file, catalog_of(bytes));
  BLKSWEEP_TRY(const CatalogCheck check, check_catalog(file.view()));
  if (!check.clean()) {
    return open_copy(file.view());
  }
  const auto owner = std::make_shared<const CatalogFile>(std::move(file));
  Source source;
  source.catalog = owner->view();
  source.owner = owner;
  source.origin.data = std::string(owner->view().root);
  examine_source(source);
  return SharedData{std::move(source)};
}

}  // namespace

Result<SharedData> open_shared(const Comm& comm, const SourceSettings& settings,
                               const std::function<void()>& arrive) {
  std::string bytes;
  Result<SharedData> data = fail("");
  Result<> opened;
  if (comm.first()) {
    Result<Source> source = open_source(settings);
    const Result<std::string> encoded =
        source ? bytes_of(source->catalog) : Result<std::string>(tl::unexpected(source.error()));
    opened = encoded ? Result<>() : Result<>(tl::unexpected(encoded.error()));
    bytes = encoded.value_or("");
    if (source) {
      data = SharedData{*std::move(source)};
    }
  }
  BLKSWEEP_CHECK(comm.agree(opened));
  comm.broadcast(bytes);
  if (!comm.first()) {
    data = open_here(bytes);
  }
  arrive();
  BLKSWEEP_CHECK(comm.agree(data ? Result<>() : Result<>(tl::unexpected(data.error()))));
  return data;
}

}  // namespace blksweep
