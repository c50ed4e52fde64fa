// What has to be made and written for a memory and an I/O limit, decided before anything is
// changed.
//
// v1:      a group below the process's own one in the hierarchy of each controller.
// v2:      a group beside the process's own one, because a group that shares out controllers may
//          hold no processes (below, where the process is in the root, which may). Controllers that
//          are off on the way down are switched on level by level.
// Errors:  Exit::unsupported where a controller is not there or out of reach; usage errors for
//          limits that no process could live with.
// Threads: pure but for reading the hierarchies.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "os/cgroup.h"

namespace blksweep {

struct LimitWish {
  std::optional<Bytes> memory = {};
  std::optional<std::uint64_t> read_bytes_per_s = {}, read_iops = {};
  dev_t disk = 0;  // whole disk; needed for I/O limits
  bool any_io() const { return read_bytes_per_s || read_iops; }
  bool any() const { return memory || any_io(); }
};

struct ControllerStep {
  std::string file;  // a cgroup.subtree_control
  std::string name;  // "io"
  bool on = false;   // already: maybe by another process, which takes it back when it ends
};

struct LimitGroup {
  int version = 1;
  std::string folder;  // to be made
  std::string origin;  // the group that the process is in now
  bool memory = false, io = false;
};

struct LimitValue {
  std::string name;    // for records, with its unit: "memory_limit_bytes"
  std::string asked;   // "67108864"
  std::string file;    // that is written
  std::string text;    // what is written: "7:0 rbps=100000000"
  std::string device;  // reading back: its line begins with this ("7:0"); "" is the whole file
  std::string field;   // reading back: of this name in that line ("rbps"); "" is the rest
};

struct LimitPlan {
  std::vector<ControllerStep> controllers;  // of v2, from the top down
  std::vector<LimitGroup> groups;
  std::vector<LimitValue> values;
};

// `name` is that of the new groups.
Result<LimitPlan> plan_limits(const LimitWish& wish, const std::string& name,
                              const CgroupSources& sources = {});

// Whether the groups below have that controller.
bool shares_out(const std::string& subtree_control, std::string_view controller);
// What the file reads for that limit now; "" when there is nothing of the kind.
std::string read_back(const LimitValue& value);

}  // namespace blksweep
