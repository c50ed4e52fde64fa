// FolderTimes: was a folder of the set exchanged for another one, and put back, between two looks?
//
// Why:     such an exchange changes nothing of the set's files, and the other folder's bytes are
//          delivered under their names meanwhile.
// Method:  who renames a folder changes its ctime, and the mtime of the folder that holds its name
//          (ext4, xfs, btrfs). Both together: names that come and go below a folder change the
//          times of that folder alone. The root is no part of it: who reads holds it open
//          (DataFiles::open_same_root).
// Cost:    one statx per folder; nothing in the epoch.
// Errors:  a folder that cannot be asked is one that changed.
// Threads: any; unchanging.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/catalog.h"

namespace blksweep {

class FolderTimes {
 public:
  // Now.
  static FolderTimes of(const Catalog& catalog);
  // The first folder, relative to the root, that may have been exchanged since then; empty: none.
  // `catalog` has the same paths.
  std::string exchanged(const Catalog& catalog) const;

 private:
  struct Times {
    std::uint64_t inode = 0;
    std::int64_t ctime_ns = 0, mtime_ns = 0;
  };
  class Folders;
  static std::vector<Times> times_of(const Catalog& catalog, const Folders& folders);

  std::vector<Times> folders_;  // the root first, parents before their children
};

}  // namespace blksweep
