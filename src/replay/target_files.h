// TargetFiles: what a replay reads, as file slots of an engine: a device, or the files of a trace.
//
// Names:   files are opened below their folder, never outside of it (openat2, RESOLVE_BENEATH):
//          links that lead out are not followed. What cannot be opened is left out, by reason; so
//          is what lies on a filesystem mounted below: facts and counts are of the folder's disk.
// Slots:   as many files as descriptors allow are open at once; others are opened when their turn
//          comes, and take the place of the one that was opened longest ago.
// Errors:  slot_of() gives -errno for a file that went away.
// Threads: one owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "io/engine.h"

namespace blksweep {

class TargetFiles {
 public:
  static TargetFiles device(Fd fd, std::uint64_t bytes);
  // `names` of the trace, below `folder`; `flags` of each open (O_DIRECT).
  static Result<TargetFiles> below(const std::string& folder, const std::vector<std::string>& names,
                                   int flags);

  unsigned slots() const { return slots_; }
  bool is_device() const { return device_; }
  // nullptr: it can be read. REQUIRES: a place of the trace.
  const char* refused(std::uint32_t place) const { return files_[file_of(place)].refused; }
  std::uint64_t bytes(std::uint32_t place) const { return files_[file_of(place)].bytes; }
  std::size_t files() const { return files_.size(); }
  int folder() const { return folder_.get(); }

  // Opens what the slots hold, so that no open falls into the replay where they hold all.
  Result<> start(Engine& engine);
  int slot_of(std::uint32_t place);
  Result<> flush(Engine& engine);

 private:
  struct File {
    std::string name;
    std::uint64_t bytes = 0;
    const char* refused = nullptr;
    int slot = -1;
  };
  std::size_t file_of(std::uint32_t place) const { return device_ ? 0 : place; }
  Fd open(const File& file) const;

  bool device_ = false;
  Fd folder_;
  int flags_ = 0;
  unsigned slots_ = 1;
  std::vector<File> files_;
  struct Slot {
    std::uint32_t file = 0;
    std::uint64_t used = 0;  // in which group last; 0: never
  };
  std::vector<Slot> in_slot_;
  unsigned next_slot_ = 0;  // to be given away
  std::uint64_t group_ = 1;
  std::vector<std::pair<std::uint32_t, Fd>> pending_;  // slot, opened and not with the engine yet
};

}  // namespace blksweep
