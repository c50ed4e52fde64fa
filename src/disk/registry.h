// Registry: which emulated disks there are, as files below /run/blksweep/disks/NAME/.
//
//   state.json   what was asked for and what was done so far, written before each step
//   daemon       pid and start time of the daemon, written by itself; held with flock while it
//   lives io/          the daemon's FUSE mount: data, stats, timing (disk/fuse_files.h) log what
//   the daemon said; last_stats.json: its stats at its end
//
// What the kernel knows (loop device, mounts, processes) is asked of the kernel, not of these
// files, so that a start that was killed half-way can be cleaned up too.
//
// Rights:  folders are made 0700 step by step; a symbolic link or a folder of another user in the
//          way is refused.
// Errors:  one line; a damaged state.json names the file and the way out. Nothing here opens a file
//          below io/: a dead or stuck daemon cannot make it hang.
// Threads: functions are independent; one process changes one disk at a time (DiskLock).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "model/model_spec.h"
#include "os/process/process_id.h"

namespace blksweep {

inline constexpr const char* kMemoryBacking = "memory";

// Letters, digits, '-' and '_', at most 32, the first a letter or a digit.
Result<> check_disk_name(const std::string& name);

struct QueueValues {  // of the loop device, before it was borrowed
  std::string rotational, max_sectors_kb;
};

struct DiskState {
  std::string name;
  std::string backing = kMemoryBacking;                 // or the absolute path of a file
  std::uint64_t backing_device = 0, backing_inode = 0;  // of that file
  std::uint64_t size = 0;                               // bytes
  std::string model, model_toml;
  double speedup = 1;
  std::uint64_t times_set = 0;    // by `disk set`
  std::string device;             // /dev/loop0; empty until there is one
  std::string filesystem, mount;  // empty: none asked for
  std::string image;              // what memory holds at the start; empty: nothing
  std::optional<QueueValues> before;
  std::int64_t path_ns = 0;  // of loop and FUSE, as calibrated; taken off the modelled time
};

std::string to_json_text(const DiskState& state);
Result<DiskState> parse_disk_state(const std::string& text, const std::string& file);

class Registry {
 public:
  explicit Registry(std::string base = "/run");

  std::string folder(const std::string& name) const { return root_ + "/" + name; }
  std::string io_folder(const std::string& name) const { return folder(name) + "/io"; }
  std::string data_file(const std::string& name) const { return io_folder(name) + "/data"; }
  std::string daemon_file(const std::string& name) const { return folder(name) + "/daemon"; }
  std::string log_file(const std::string& name) const { return folder(name) + "/log"; }
  std::string last_stats_file(const std::string& name) const {
    return folder(name) + "/last_stats.json";
  }

  // Makes the folders of a new disk. EEXIST in sys_errno: there is one of that name.
  Result<> create(const std::string& name) const;
  bool exists(const std::string& name) const;
  Result<> save(const DiskState& state) const;
  // Without a disk of that name: an error that lists those there are.
  Result<DiskState> load(const std::string& name) const;
  std::vector<std::string> names() const;  // sorted
  // Files and folders of the disk; io/ must be unmounted.
  Result<> remove(const std::string& name) const;
  // The daemon while it lives.
  std::optional<ProcessId> daemon(const std::string& name) const;

 private:
  std::string base_, root_;
};

// flock on the folder of a disk: who starts, changes or stops it is alone. Waits a few seconds for
// another one, then fails and says so.
class DiskLock {
 public:
  static Result<DiskLock> take(const Registry& registry, const std::string& name);

 private:
  explicit DiskLock(Fd folder) : folder_(std::move(folder)) {}
  Fd folder_;
};

struct EmulatedDisk {
  std::string name, model;
  std::string backing;  // memory, or the path of a file
  double speedup = 1;
  std::uint64_t size = 0;
  ModelSpec spec;
  std::uint64_t times_set = 0;  // by `disk set`, since its start
  // "emulated hdd-7200 x1": stands where results name the hardware, so that nobody takes it for
  // some.
  std::string hardware_name() const;
};

// What "loop3" is, when it is one of ours; nothing is asked of the daemon.
std::optional<EmulatedDisk> emulated_disk(const std::string& disk,
                                          const Registry& registry = Registry());

// The disk itself, or the first of ours that it stands on: a loop device whose image lies on an
// emulated disk answers as that one does.
std::optional<EmulatedDisk> emulated_beneath(const std::string& disk);

}  // namespace blksweep
