// xfs_remaps: how often xfs gave blocks of one file to another (reflink, deduplication, the copy
// before a write to what is shared) or took them back, since it was mounted.
//
// Why:     who deduplicates (FIDEDUPERANGE) needs the file open for reading only, and neither times
//          nor fanotify(7) tell: its blocks are another file's then, and its own free for anybody.
// Source:  the lines of the trees of references in /sys/fs/xfs/DISK/stats/stats. Other work leaves
//          them as they are.
// Threads: any.
#pragma once

#include <optional>
#include <string>

namespace blksweep {

// To be compared with itself; nullopt: no xfs; "": the kernel does not tell.
std::optional<std::string> xfs_remaps(int fd);

}  // namespace blksweep
