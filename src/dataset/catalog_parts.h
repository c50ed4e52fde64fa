// CatalogParts: a catalog that is being built, and the memory behind a Catalog view of it.
//
// Units, order: those of plan/catalog.h; whoever fills the vectors keeps them (files sorted by
//            path, extents by file and offset). write_catalog() refuses parts that do not.
// Ownership: owns everything; view() points into it and ends with it or its next change.
// Threads:   one owner while building.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plan/catalog.h"

namespace blksweep {

struct CatalogParts {
  std::vector<FileRecord> files;
  std::vector<ExtentRecord> extents;
  std::vector<WholeSample> whole;
  std::vector<PartSample> parts;
  std::vector<std::uint32_t> path_end;
  std::string path_bytes;
  std::vector<std::uint32_t> label_end;
  std::string label_bytes;
  std::string root;         // absolute path of the data set's directory
  std::string device_node;  // "/dev/loop0"; empty: not known
  std::uint64_t device = 0;
  std::uint64_t partition_start = 0;
  std::uint32_t block_bytes = kPageBytes;
  bool device_readable = false;
  bool links_followed = false;

  // Adds a file with its path (in path order); first_extent is set here, so its extents follow.
  void add_file(FileRecord file, std::string_view path);
  // A new label; the number to put into samples.
  std::uint32_t add_label(std::string_view name);
  Catalog view() const;
};

}  // namespace blksweep
