// The facts that all runs of an experiment share: the node, and the device under the data with all
// that it stands on.
//
// Errors:  none; what cannot be read stays empty.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "loader/source.h"
#include "os/block/layer_facts.h"
#include "store/records.h"

namespace blksweep {

// Host facts of this node with those of the source's device.
HostRecord describe_host(const Source& source);

// Of these only what changed_conditions() compares, but for the CPUs.
HostRecord host_conditions(const Source& source);

// Settings that decide the requests: of the disk's queue, "btrfs/read_ahead_kb", with which btrfs
// reads ahead instead of the queue's, and what this process has of whoever started it:
// "memory/transparent_hugepage" (of small pages a long read has more segments than a request),
// "process/io_priority" and "process/nice" (a request of low priority waits, on disks below, too).
std::vector<std::pair<std::string, std::string>> queue_facts(const Source& source);

// layer_facts with what an emulated disk answers: a model that was edited has its old name.
std::vector<LayerFact> layers_now(const std::string& disk);

// What is no longer as `host` says: the stack under the data, its queue, the limits of this
// process's cgroup. Empty: nothing. What a cell borrows must be given back before.
std::string changed_conditions(const HostRecord& host, const Source& source);

}  // namespace blksweep
