// Where the memory and the I/O controller are on this node (cgroup v1, v2 or one each), and which
// groups of theirs this process is in.
//
// Source:  /proc/self/mountinfo, /proc/self/cgroup, cgroup.controllers (cgroups(7);
//          Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/cgroups.rst).
// Errors:  none; a controller that cannot be reached has version 0 or an empty `own`.
// Threads: any.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace blksweep {

enum class Controller { memory, io, cpu };
// As the kernel calls it in that version: "io" of v2 was "blkio" in v1.
std::string_view controller_name(Controller controller, int version);

// Other files than those of this process, for tests.
struct CgroupSources {
  std::string mountinfo = "/proc/self/mountinfo";
  std::string membership = "/proc/self/cgroup";
};

struct CgroupPlace {
  int version = 0;    // 1, 2, or 0: the kernel has no such controller, or it is not mounted
  std::string mount;  // folder of the topmost group that can be seen: "/sys/fs/cgroup/memory"
  std::string own;    // folder of this process's group; "" when it is outside of what is mounted
  bool read_only = false;
};

CgroupPlace cgroup_place(Controller controller, const CgroupSources& sources = {});

// "v1 memory,blkio" | "v2 memory,io" | "hybrid: v1 memory; v2 io" | "no memory or I/O controller".
std::string cgroup_summary(const CgroupSources& sources = {});

// The words of a one-line file such as cgroup.controllers.
std::vector<std::string> words_in_file(const std::string& path);

}  // namespace blksweep
