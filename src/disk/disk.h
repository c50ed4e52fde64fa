// Emulated disks as the command line sees them: start, change, look, stop (docs/emulated-disk.md).
//
// Order:   start makes state folder, daemon, loop device, filesystem, mount; stop takes them away
//          the other way round. A start that fails or is interrupted takes away what it made.
// Errors:  Exit::unsupported where FUSE or loop devices are refused; Exit::interrupted.
// Threads: one caller; other processes are kept out with DiskLock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "disk/registry.h"
#include "model/model_spec.h"

namespace blksweep {

struct DiskWish {
  std::string name;
  ModelSpec model;
  double speedup = 1;
  std::optional<Bytes> size;             // must be there unless the backing file exists
  std::string backing = kMemoryBacking;  // or a path
  std::string filesystem, mount;         // both or none
  std::string image = {};                // a file of ours that memory holds a copy of at the start
  std::optional<unsigned> loop = {};     // LoopWish::number
};
// Root, /dev/fuse and /dev/loop-control; Exit::unsupported names what is missing.
Result<> check_disk_rights();
Result<DiskState> start_disk(const Registry& registry, const DiskWish& wish);

struct DiskChange {
  std::optional<ModelSpec> model;
  std::optional<double> speedup;
};
Result<DiskState> set_disk(const Registry& registry, const std::string& name,
                           const DiskChange& change);

struct DiskEnd {
  std::vector<std::string> warnings;  // what was lost or not as it should be
};
// `force`: unmounts what is busy, ends a daemon that does not answer, gives up a removed backing.
Result<DiskEnd> stop_disk(const Registry& registry, const std::string& name, bool force);

enum class DiskHealth { running, stopped, dead };  // stopped: the daemon is held by a signal
DiskHealth health_of(const Registry& registry, const std::string& name);
// The daemon's own JSON (docs/emulated-disk.md).
Result<std::string> disk_stats(const Registry& registry, const std::string& name);

// How to get at the bytes of a backing file that has no name any more; nullopt: it has one.
std::optional<std::string> rescue_hint(const Registry& registry, const DiskState& state);

}  // namespace blksweep
