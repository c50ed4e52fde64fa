// DiskWatch: whether somebody set, since a moment, what decides how a disk answers: also where it
// was put back meanwhile, which no comparison of both ends sees.
//
// Watched: the settings of its queue and of those that it stands on, the limits of this process's
//          cgroup (os/block/setting_watch.h says what is not seen), and the model and speed of an
//          emulated disk that it is or stands on.
// Errors:  none; what cannot be watched is not seen.
// Threads: one owner.
#pragma once

#include <optional>
#include <string>

#include "disk/registry.h"
#include "os/block/setting_watch.h"

namespace blksweep {

class DiskWatch {
 public:
  // "sdb"; empty: no disk, the cgroup alone.
  static DiskWatch begin(const std::string& disk);

  // Since then; empty: nothing.
  std::string changed();

 private:
  std::string timing_set() const;

  std::string disk_;
  std::optional<EmulatedDisk> emulated_;
  SettingWatch settings_;
};

}  // namespace blksweep
