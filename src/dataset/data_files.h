// DataFiles: opens the files of a catalog below the data set's directory, as the scan found them.
//
// Links:   followed out of the directory only where the scan was told to (Catalog::links_followed).
//          Else nothing is read through another mount either, which may show another disk's files
//          under the same names.
// Trust:   never waits for what has taken a file's place (os/file/open_regular.h): a FIFO that was
//          swapped in costs one sample, not the run.
// Threads: open() on any thread, with a scratch of its own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/fd.h"
#include "base/result.h"
#include "dataset/file_handles.h"
#include "os/file/open_regular.h"
#include "plan/catalog.h"

namespace blksweep {

class DataFiles {
 public:
  static Result<DataFiles> open_root(const Catalog& catalog);
  // The same, and an Error where the catalog's first file is another one there: a folder above the
  // set was exchanged. The root is held, so that this need not be asked again.
  static Result<DataFiles> open_same_root(const Catalog& catalog);
  // A descriptor or -errno; `flags` beside O_RDONLY, O_NOATIME is added where that is allowed.
  int open(std::uint32_t file, int flags, std::string& scratch) const;
  // The same, and -ESTALE where links are followed and it is not the catalog's inode: a link that
  // leads elsewhere for a while leaves no trace. Without links FolderTimes tells, and for nothing.
  int open_same(std::uint32_t file, int flags, std::string& scratch) const;
  // open_same() opens by handle from now on. Errors: FileHandles::of().
  Result<> use_handles();
  int root() const { return root_.get(); }
  Links links() const { return links_; }

 private:
  DataFiles(const Catalog& catalog, Fd root)
      : catalog_(&catalog),
        root_(std::move(root)),
        links_(catalog.links_followed ? Links::anywhere : Links::one_mount),
        inodes_stay_(catalog.device != 0 &&
                     std::ranges::any_of(catalog.extents, &ExtentRecord::has_address)) {}
  bool same(std::uint32_t file, int opened) const;

  const Catalog* catalog_;
  Fd root_;
  Links links_;
  std::optional<FileHandles> handles_;
  // Some filesystems without addresses number a file anew; others are of no filesystem.
  bool inodes_stay_;
};

// What an errno of such an open says of the file.
std::string why_not_opened(int error);

}  // namespace blksweep
