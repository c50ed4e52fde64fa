// Queue settings of a block device: scheduler, its tunables, nr_requests, read_ahead_kb ...
//
// Disk:    the name below /sys/block ("loop0"); a partition's settings are its disk's.
// Borrow:  everything goes through Borrowing. A change of scheduler resets the tunables of the old
//          one, nr_requests and wbt_lat_usec: all writable files of queue/ and queue/iosched/ are
//          saved with it, the scheduler first, so that they come back.
// Source:  Documentation/ABI/stable/sysfs-block, Documentation/block/{switching-sched,queue-sysfs}.
// Errors:  an unknown scheduler lists those that the device has; a refused value names the file,
//          the text and what the kernel said. Nothing is half-changed: a failed set_queue() takes
//          back what it did.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "node/borrowing.h"

namespace blksweep {

// Name -> value: "scheduler" -> "bfq", "nr_requests" -> "64", "read_ahead_kb" -> "128",
// "iosched/low_latency" -> "0". The scheduler is set first, wherever it stands.
using QueueWish = std::vector<std::pair<std::string, std::string>>;

struct AskedGot {
  std::string name, asked, got, before;
};

Result<std::vector<AskedGot>> set_queue(const std::string& disk, const QueueWish& wish,
                                        Borrowing& borrowing);

std::vector<std::string> schedulers_of(const std::string& disk);  // loads nothing
std::string scheduler_of(const std::string& disk);                // the one in brackets; "" without

// Whole-node values: "vm/vfs_cache_pressure", "vm/dirty_ratio", "vm/dirty_bytes",
// "vm/dirty_background_ratio", "vm/dirty_background_bytes", and "cpu/governor" (of every CPU).
Result<AskedGot> set_tunable(const std::string& name, const std::string& value,
                             Borrowing& borrowing);
std::vector<std::pair<std::string, std::string>> tunables();  // those that there are, with values

}  // namespace blksweep
