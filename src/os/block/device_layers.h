// What a disk stands on: itself, its backing file, or the disks beneath it.
//
// Source:  /sys/block/<disk>/{loop/backing_file,loop/dio,dm/name,md/level,slaves,device/model,
//          device/driver}; os/block/layer_facts.h has the rest.
// Errors:  none; what cannot be read is left out.
#pragma once

#include <string>
#include <vector>

#include "os/block/blockdev.h"

namespace blksweep {

enum class DiskKind { hardware, virtual_disk, loop, mapper, raid, memory };

struct DiskFacts {
  std::string disk;  // "loop0": the name below /sys/block
  DiskKind kind = DiskKind::hardware;
  std::string model;         // of the hardware, or what kind of virtual disk it is
  std::string backing_file;  // loop only
  bool backing_direct = false;
};

// What it is made of: its slaves (of a partition, its disk), or the disk that a loop device's file
// is on. A file on FUSE is left out: to ask it could wait for a daemon that is dead or stuck.
// `sys` is another /sys, for tests.
std::vector<std::string> disks_beneath(const std::string& disk, const std::string& sys = "/sys");

// Of a path by its text alone: a file on FUSE could make who asks wait for a daemon that is dead.
MountFacts mount_by_text(const std::string& file);

// The filesystem that a loop device's backing file is on; nothing where that is a block device: a
// node lies in memory, what is read through it does not.
MountFacts mount_of_backing(const std::string& file);

DiskFacts disk_facts(const std::string& disk);
// The disk first, then what each stands on, top down: loop0, then the disk of its backing file.
std::vector<DiskFacts> device_layers(const std::string& disk);

}  // namespace blksweep
