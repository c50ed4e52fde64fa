// The NUMA node that a disk or a PCI device hangs on.
//
// Method:  numa_node of the nearest parent of /sys/block/DISK/device that has one; a loop device is
//          where the disk of its backing file is, a stacked one (dm, md) where all below it agree.
// Errors:  nullopt: no NUMA, a virtual disk, or disks of several nodes below.
// Threads: any.
#pragma once

#include <optional>
#include <string>

namespace blksweep {

// `sys` is another /sys, for tests.
std::optional<unsigned> numa_node_of(const std::string& disk, const std::string& sys = "/sys");

// By its address, as the kernel ("0000:65:00.0"), CUDA or NVML ("00000000:65:00.0") write it.
std::optional<unsigned> numa_node_of_pci(const std::string& address,
                                         const std::string& sys = "/sys");

}  // namespace blksweep
