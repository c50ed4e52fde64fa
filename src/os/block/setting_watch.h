// SettingWatch: whether somebody wrote a setting of a disk's queue, a limit of this process's
// cgroup, or took a CPU away, since a moment: also one that was put back meanwhile, which no
// comparison sees.
//
// Method:  inotify on the folders of the settings: sysfs and cgroups tell of what is written by
//          way of their files. It costs nothing until then.
// Limits:  who writes what was there already counts, too. Not seen: what an ioctl of the device
//          sets (blockdev --setra, losetup --direct-io), writers by another mount of sysfs or of
//          the cgroups (a container's), groups above our own.
// Errors:  none; what cannot be watched is not seen.
// Threads: one owner.
#pragma once

#include <map>
#include <set>
#include <string>

#include "base/fd.h"

namespace blksweep {

class SettingWatch {
 public:
  // Of nothing yet; add() begins with each.
  SettingWatch();
  // The disk (empty: none), those that it stands on, the groups that this process is in, the CPUs.
  static SettingWatch begin(const std::string& disk);

  void add_disk(const std::string& disk);
  void add_group(const std::string& folder);  // of a cgroup
  void add_cpus(const std::string& folder = "/sys/devices/system/cpu");

  // Since then: "settings were written meanwhile, and may have been others for a while: loop0
  // nr_requests"; empty: none was.
  std::string written();

 private:
  void add(const std::string& folder, const std::string& owner);

  Fd events_;
  std::map<int, std::string> owners_;  // by watch descriptor: a disk, "cgroup", a CPU
  std::set<std::string> seen_;
};

}  // namespace blksweep
