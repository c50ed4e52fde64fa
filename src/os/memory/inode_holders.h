// Which processes keep inodes of certain files in memory: by open descriptors, of all tables that a
// process has (`blksweep cache pin --inodes` has one per thread), or by mappings.
//
// Works from the texts in /proc only and never follows them, as os/block/holders.h.
//
// Files:   told apart by inode number: below `root`, or by another name on the device that `root`
//          is on (not on btrfs and overlay, whose device numbers are not those of their files).
// Left out: this process and its children, which hold for it.
// Source:  proc(5): /proc/PID/task/TID/{fd,fdinfo}, maps, mountinfo; kcmp(2). The inode stands in
//          fdinfo since Linux 5.14.
// Errors:  none; processes that may not be looked at are counted in `unseen`: without root these
//          are all processes of others.
// Cost:    four system calls for each open descriptor of a file, of all processes.
// Threads: pure functions.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace blksweep {

struct InodeHolder {
  pid_t pid = 0;
  std::string command;      // /proc/PID/comm
  std::uint64_t files = 0;  // that no process before it holds
};

struct InodeHolders {
  std::uint64_t wanted = 0, held = 0;  // distinct inodes
  std::vector<InodeHolder> holders;    // most files first
  std::size_t unseen = 0;
};

InodeHolders inode_holders(const std::string& root, std::vector<ino_t> inodes);

}  // namespace blksweep
