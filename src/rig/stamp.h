// Stamp: what a disk image or a data set was made from, in a file beside it: settings as text, part
// by part, in the order of making.
//
// Trust:   what is whole has its settings in the stamp; while something is made the stamp says so,
//          and what was being made when the program was killed is made anew, never taken for whole.
//          The text itself is compared, not a hash of it.
// Threads: one owner.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "rig/settings.h"

namespace blksweep {

std::string settings_text(const ImageDisk& disk);  // what the file's content depends on
std::string settings_text(const DataSetup& data, const RigSettings& rig);

// The parts of a disk: itself, then its data sets in their order.
std::vector<std::string> parts_of(const RigSettings& rig, const DiskSetup& disk);

enum class StampState {
  absent,     // no stamp: what stands there is not ours
  other,      // of other settings, or unfinished
  beginning,  // the first `parts` of those that are wanted; more may be added
  whole
};
struct StampFound {
  StampState state = StampState::absent;
  std::size_t parts = 0;
};

class Stamp {
 public:
  explicit Stamp(std::string file) : file_(std::move(file)) {}
  StampFound look(const std::vector<std::string>& wanted) const;
  // Before what it speaks of is touched. On disk when it returns, as the others.
  Result<> begin() const;
  // `made`: all parts that are whole now.
  Result<> keep(const std::vector<std::string>& made) const;

 private:
  std::string file_;
};

}  // namespace blksweep
