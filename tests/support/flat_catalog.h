// A catalog made by hand: files of given names and sizes below a root, one extent each.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "plan/catalog.h"

namespace blksweep::support {

struct FlatCatalog {
  std::string root;
  std::string path_bytes;
  std::vector<std::uint32_t> path_end;
  std::vector<FileRecord> files;
  std::vector<ExtentRecord> extents;
  std::vector<WholeSample> whole;

  explicit FlatCatalog(std::string at) : root(std::move(at)) {}
  void add(const std::string& name, std::uint64_t size, std::uint64_t device_offset = 0) {
    const auto index = static_cast<std::uint32_t>(files.size());
    path_bytes += name;
    path_end.push_back(static_cast<std::uint32_t>(path_bytes.size()));
    files.push_back({index + 1, size, 0, 0, static_cast<std::uint32_t>(extents.size()), index});
    if (size > 0) {
      extents.push_back({0, device_offset, align_up(size, kPageBytes), 0, index});
    }
    whole.push_back({index, kNoLabel});
  }
  Catalog view() const {
    Catalog c;
    c.files = files;
    c.extents = extents;
    c.whole = whole;
    c.path_end = path_end;
    c.path_bytes = path_bytes;
    c.root = root;
    return c;
  }
};

}  // namespace blksweep::support
