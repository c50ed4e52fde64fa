// WriteWatch: which files of a filesystem somebody wrote, had open for writing, renamed or removed
// since a moment, and which folders somebody renamed.
//
// Why:     what moves a file's blocks under it (EXT4_IOC_MOVE_EXT, XFS_IOC_SWAPEXT, a write, a
//          hole) needs it open for writing, and need not change times or, if it moves them back,
//          extents. A writer that was there has closed the file since, which is an event here, or
//          holds it still, which held_for_writing() sees: between them none is missed. Who
//          deduplicates on xfs does not write, and is no event: os/file/xfs_remaps.h counts.
// Method:  a fanotify mark on the filesystem, by file handle (Linux 5.1) and so also of files
//          opened by handle, of which no directory hears: FAN_CLOSE_WRITE, FAN_MODIFY (truncate(2)
//          opens nothing), FAN_ATTRIB, FAN_DELETE_SELF (also who renames another file over it) and
//          FAN_MOVE_SELF, of folders too. A mount over a folder is no event. Nothing is pinned in
//          memory.
// Rights:  CAP_SYS_ADMIN, else an Error.
// Threads: one owner.
// Source:  fanotify(7), fcntl(2) "Leases".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace blksweep {

class WriteWatch {
 public:
  // Of the filesystem that `path` is on, from now on.
  static Result<WriteWatch> begin(const std::string& path);

  // Inodes of them since begin(), or since the call before; sorted; also of folders that were
  // changed otherwise. 0 among them: a file that
  // is gone, and the filesystem does not say which, or xfs moved blocks of some. An Error when the
  // kernel lost events.
  Result<std::vector<std::uint64_t>> touched();

 private:
  WriteWatch(Fd events, Fd mount);
  bool remapped();

  Fd events_;
  Fd mount_;  // a directory of the filesystem, to resolve handles by
  std::optional<std::string> remaps_;
};

// Whether anybody has the file open for writing now, mappings included; nullopt where that cannot
// be asked (leases are refused). `fd` is open for reading only.
std::optional<bool> held_for_writing(int fd);

}  // namespace blksweep
