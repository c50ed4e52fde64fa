// All that the kernel says of a disk and of what it stands on, as texts to store and compare: two
// sessions are under the same conditions only where they are equal.
//
// Names:   kind, backing_file, direct_io, offset, size_limit, filesystem, mount_options (of a loop
//          device: those of its file), mapper_name, mapper_uuid, raid_level, members, model,
//          vendor, serial, firmware, wwid, write_cache, rotational, scheduler, numa_node,
//          pcie_speed, pcie_width; of disks below the first queue/nr_requests,
//          queue/max_sectors_kb, queue/nomerges and queue/read_ahead_kb.
// Source:  /sys/block/<disk>/... and the device folders above it; /proc/self/mountinfo.
// Errors:  none; what cannot be read is left out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace blksweep {

struct LayerFact {
  std::string disk, name, value;
  friend bool operator==(const LayerFact&, const LayerFact&) = default;
};

// Of one disk. `sys` is another /sys, for tests.
std::vector<LayerFact> facts_of_disk(const std::string& disk, const std::string& sys = "/sys");
// Of the disk and of everything beneath it, top down.
std::vector<LayerFact> layer_facts(const std::string& disk);

// But those that may change by themselves, as the speed of a PCIe link that saves power does.
std::vector<LayerFact> lasting(std::vector<LayerFact> facts);

// "loop0 direct_io: 1, now 0": the lasting facts that differ; empty: none does.
std::string difference(const std::vector<LayerFact>& before, const std::vector<LayerFact>& now);

// Whether the files of such a filesystem are in memory and nowhere else.
bool is_memory(std::string_view filesystem);
// Caches below the disk that can be seen and that no run can empty or look into, each with what
// that means for a run that is called cold.
std::vector<std::string> caches_beneath(const std::string& disk);
// Those of them that keep what was read: the next one to read finds it there.
std::vector<std::string> keeping_caches(const std::string& disk);
// Backing files of loop devices in the stack that are read through the page cache.
std::vector<std::string> cached_backing_files(const std::string& disk);

}  // namespace blksweep
