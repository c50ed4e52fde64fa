// FileHandles: the files of a set by handle, which says inode and generation and no name.
//
// Why:     opening a cold file looks its name up in a folder first; by handle that is left out
//          (docs/readers.md). No training loop opens so: it tells what names cost.
// Memory:  32 bytes a file.
// Trust:   a handle is taken of a regular file that was opened by name; what takes the name later
//          is not opened.
// Rights:  CAP_DAC_READ_SEARCH in the first user namespace.
// Errors:  of(): unsupported, where the filesystem gives no handles or they may not be opened.
// Threads: any, once made.
// Source:  open_by_handle_at(2).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "plan/catalog.h"

namespace blksweep {

class DataFiles;

class FileHandles {
 public:
  // Opens each file once, in inode order. One that is not there has no handle.
  static Result<FileHandles> of(const Catalog& catalog, const DataFiles& data);
  // A descriptor or -errno; `mount`: a folder of the filesystem. ESTALE: the file is gone.
  int open(int mount, std::uint32_t file, int flags) const;

 private:
  struct Handle {  // a struct file_handle and its bytes: 8 on ext4, 12 on xfs, 20 on btrfs
    unsigned bytes = 0;
    int type = 0;
    std::array<unsigned char, 24> room{};
  };
  explicit FileHandles(std::size_t files) : handles_(files) {}
  int take(std::uint32_t file, int fd, int mount_id);
  int try_one(std::uint32_t file, int mount);

  std::vector<Handle> handles_;
  bool tried_ = false;
};

}  // namespace blksweep
