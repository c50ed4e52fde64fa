// Do the files still lie where the catalog says? Compares all extents of all files, beside what
// check_catalog() compares.
//
// Method:  each file is opened once, in inode order: statx, FIEMAP, and the scan's own reading of
//          it (dataset/placement.h), so that an unchanged file cannot look changed. Extents that
//          touch are one: FIEMAP joins them or not, as its caches happen to be.
// Cost:    an open, statx and FIEMAP per file; it brings inodes in, data pages not.
// Errors:  the data set's root cannot be opened or written back; descriptors run out. Files that
//          are missing or differ are the answer.
// Threads: one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "dataset/catalog_check.h"
#include "plan/catalog.h"

namespace blksweep {

struct ExtentCheck {
  std::uint64_t files = 0;
  std::vector<ChangedFile> changed;  // other bytes, maybe; in path order
  std::vector<ChangedFile> moved;    // the same files, elsewhere on the device; likewise
  std::vector<std::uint32_t> held;   // open for writing by somebody (only if asked for)
  std::uint64_t unasked = 0;         // files of which that could not be asked
  std::uint64_t unplaced = 0;        // of `moved`: no address is to be had here (btrfs needs root)
  bool clean() const { return changed.empty() && moved.empty(); }
};

enum class AskWriters { no, yes };

Result<ExtentCheck> check_extents(const Catalog& catalog, AskWriters writers = AskWriters::no);
// Of these files alone.
Result<ExtentCheck> check_extents(const Catalog& catalog, AskWriters writers,
                                  std::span<const std::uint32_t> files);

// Dirty pages of the data set's filesystem are on the device afterwards.
Result<> write_back(const Catalog& catalog);

// "3 of 300 files were moved ...: a: byte 8192 -> 40960; b: ...; ...": the first ones by name.
std::string name_first(const std::vector<ChangedFile>& files);

}  // namespace blksweep
