// Who uses a block device or the filesystem on it.
//
// Works from the texts in /proc only and never follows them: a dead or stuck filesystem cannot make
// it hang.
//
// Source:  /proc/self/mountinfo; /proc/PID/{cwd,root,exe,fd/*,maps} (proc(5)).
// Errors:  none; processes that end meanwhile or cannot be looked at are left out.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/block/blockdev.h"

namespace blksweep {

// Where a device is mounted (as this process sees it), newest first.
Result<std::vector<MountFacts>> mounts_of(const BlockDevice& device);
Result<bool> is_mount_point(const std::string& folder);

// Whether a path as /proc has it ("/a/b", "/a/b (deleted)") is `top` or below it.
bool names_below(std::string_view path, const std::string& top);

struct Holder {
  pid_t pid = 0;
  std::string command;  // /proc/PID/comm
};
// All processes but this one.
std::vector<Holder> other_processes();
// Processes other than this one that have one of the paths, or something below it, open, mapped or
// as their folder.
std::vector<Holder> holders_of(const std::vector<std::string>& paths);
// Processes that have the device mounted, wherever their mount namespace has it.
std::vector<Holder> mounting_processes(const BlockDevice& device);
std::string to_text(const std::vector<Holder>& holders);  // "bash (12), fio (15)"

}  // namespace blksweep
