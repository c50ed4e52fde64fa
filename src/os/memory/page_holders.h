// Who keeps pages of certain files in memory: mappings, locked mappings, open descriptors.
//
// Works from the texts in /proc only and never follows them, as os/block/holders.h.
//
// Files:   told apart by inode on one device. A mapping is found whatever name it was made through
//          (btrfs: below `root` only, because the kernel prints another device number there); an
//          open descriptor only below `root`.
// Units:   bytes of the mapping that are present in that process; a page that several processes
//          map counts in each.
// Source:  proc(5): /proc/PID/{maps,smaps,fd,fdinfo}; process_madvise(2).
// Errors:  none; processes that end meanwhile or may not be looked at are left out and counted in
//          `unseen`: without root these are all processes of others.
// Threads: pure functions.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"

namespace blksweep {

struct HeldFiles {
  std::string root;  // absolute, without links: a folder or a file
  dev_t device = 0;
  std::unordered_map<ino_t, std::size_t> files;  // inode -> the caller's number for it
};

enum class HoldKind { mapped, locked, open };

struct PageHold {
  HoldKind kind = HoldKind::mapped;
  pid_t pid = 0;
  std::string command;  // /proc/PID/comm
  std::size_t file = 0;
  std::uint64_t begin = 0, end = 0;  // addresses of the mapping
  std::uint64_t bytes = 0;           // of it in memory
};

struct PageHolds {
  std::vector<PageHold> holds;
  std::size_t unseen = 0;
};

// Of processes other than this one.
PageHolds page_holds(const HeldFiles& wanted);

// Asks the kernel to evict the pages of a mapping of another process (MADV_PAGEOUT through
// process_madvise(2), Linux 5.10, root). Only pages that no second process maps go; a locked
// mapping is EINVAL.
Result<> page_out(const PageHold& hold);

// A process that has much of files mapped: why `drop_caches` leaves pages.
struct FileMapper {
  pid_t pid = 0;
  std::string command;
  std::uint64_t file_bytes = 0, locked_bytes = 0;  // RssFile, VmLck of /proc/PID/status
};
// The largest by file_bytes, this process left out.
std::vector<FileMapper> largest_mappers(std::size_t count);

}  // namespace blksweep
