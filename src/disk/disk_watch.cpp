#include "disk/disk_watch.h"

#include <fmt/format.h>

namespace blksweep {

DiskWatch DiskWatch::begin(const std::string& disk) {
  DiskWatch watch;
  watch.disk_ = disk;
  watch.emulated_ = disk.empty() ? std::nullopt : emulated_beneath(disk);
  watch.settings_ = SettingWatch::begin(disk);
  return watch;
}

// By their count: a model that was changed and changed back is equal at both ends.
std::string DiskWatch::timing_set() const {
  const auto now = emulated_ ? emulated_beneath(disk_) : std::nullopt;
  if (!now || now->times_set == emulated_->times_set) {
    return "";
  }
  return fmt::format(
      "the model or speed of {} was set meanwhile ('blksweep disk set {}', {} times), and times "
      "are of more than one",
      disk_, now->name, now->times_set - emulated_->times_set);
}

std::string DiskWatch::changed() {
  const std::string timing = timing_set();
  const std::string written = settings_.written();
  return timing + (timing.empty() || written.empty() ? "" : "; ") + written;
}

}  // namespace blksweep
