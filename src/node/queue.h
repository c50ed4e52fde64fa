// Queue settings of a block device: scheduler, its tunables, nr_requests, read_ahead_kb ...
//
// Disk:    the name below /sys/block ("loop0"); a partition's settings are its disk's.
// Borrow:  everything goes through Borrowing. A change of scheduler resets the tunables of the old
//          one, nr_requests and wbt_lat_usec: they and all else that it may touch in queue/ and
//          queue/iosched/ are saved with it, the scheduler first, so that they come back.
// Wake:    other changes have wakes too (nr_requests resets iosched/async_depth; max_sectors_kb
//          sets read_ahead_kb anew since Linux 6.9): saved likewise, and read_ahead_kb is held
//          unless it was asked for.
// Source:  Documentation/ABI/stable/sysfs-block, Documentation/block/{switching-sched,queue-sysfs}.
// Errors:  an unknown scheduler lists those that the device has; a refused value names the file,
//          the text and what the kernel said. Nothing is half-changed: a failed set_queue() takes
//          back what it did.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "node/journal/borrowing.h"

namespace blksweep {

// Name -> value: "scheduler" -> "bfq", "nr_requests" -> "64", "read_ahead_kb" -> "128",
// "iosched/low_latency" -> "0". The scheduler is set first, wherever it stands.
using QueueWish = std::vector<std::pair<std::string, std::string>>;

// The kernel rounds and clamps some values silently: `got` is what it reads when all is written.
struct AskedGot {
  std::string name, asked, got;
  std::string before;  // "" where it was not there: a tunable of a scheduler that was not on
};

Result<std::vector<AskedGot>> set_queue(const std::string& disk, const QueueWish& wish,
                                        Borrowing& borrowing);

// The queue's settings (os/block/blockdev.h) as they were left by set_queue(): what somebody else
// has written over it since is not among them.
std::vector<std::pair<std::string, std::string>> settings_with(const std::vector<AskedGot>& set,
                                                               const std::string& disk);

// Before the queue is described: what a killed process left of its own there is no fact of the
// disk.
Result<> put_back_queue(const std::string& disk, const BorrowingPlaces& places = {});

std::vector<std::string> schedulers_of(const std::string& disk);  // loads nothing
// Not listed, but the kernel has it as a module, which it loads when the scheduler is asked for
// (Debian 12: bfq and kyber). `modules` is another modules.dep, for tests.
bool scheduler_is_module(const std::string& scheduler, const std::string& modules = {});
std::string scheduler_of(const std::string& disk);  // the one in brackets; "" without
// The present scheduler's own: "low_latency" -> "1".
std::vector<std::pair<std::string, std::string>> scheduler_tunables(const std::string& disk);

// Whole-node values: "vm/vfs_cache_pressure", "vm/dirty_ratio", "vm/dirty_bytes",
// "vm/dirty_background_ratio", "vm/dirty_background_bytes", and "cpu/governor" (of every CPU).
// A ratio and its bytes are one setting to the kernel: the one resets the other, both are saved.
Result<AskedGot> set_tunable(const std::string& name, const std::string& value,
                             Borrowing& borrowing);
std::vector<std::pair<std::string, std::string>> tunables();  // those that there are, with values

}  // namespace blksweep
