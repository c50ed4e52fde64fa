// Which block device is behind a path, and what the kernel says of it.
//
// Source:  /sys/dev/block/MAJ:MIN, /sys/block/*/stat (Documentation/block/stat.rst), BLKSSZGET.
// Errors:  a path on a filesystem without a block device (tmpfs, overlay, NFS) is Exit::unsupported
//          and names the path and the filesystem.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace blksweep {

struct BlockDevice {
  dev_t dev = 0;                      // the filesystem's device (maybe a partition)
  dev_t whole_disk = 0;               // the disk it is on
  std::string node;                   // /dev/loop0p1
  std::string disk;                   // loop0: the name under /sys/block
  std::uint64_t partition_start = 0;  // bytes
  std::uint64_t size = 0;             // bytes of `node`
  std::uint32_t logical_block = 512;  // bytes; smallest direct read
};

struct MountFacts {
  std::string filesystem;  // "ext4"
  std::string source;      // "/dev/loop0"
  std::string mount_point;
  std::string options;   // of the mount, ";", of the filesystem
  std::string root;      // what of the filesystem is mounted: "/"
  std::uint64_t id = 0;  // of the mount, as statx(2) has it
  dev_t dev = 0;         // st_dev of what is mounted
};

// Whether the path is that mount point or leads through it, by text.
bool is_under(const std::string& path, const std::string& mount_point);

struct DiskStat {  // since boot, from /sys/block/*/stat
  std::uint64_t reads = 0, read_merges = 0, read_sectors = 0, writes = 0, write_sectors = 0;
  std::uint64_t discards = 0;  // before Linux 4.18: none
  std::uint64_t read_ms = 0;   // sum over the reads, each from the bio's request to its end
  DiskStat operator-(const DiskStat& before) const {
    return {reads - before.reads,
            read_merges - before.read_merges,
            read_sectors - before.read_sectors,
            writes - before.writes,
            write_sectors - before.write_sectors,
            discards - before.discards,
            read_ms - before.read_ms};
  }
};

Result<BlockDevice> block_device_of(const std::string& path);
Result<BlockDevice> block_device_of_dev(dev_t dev);
// By the kernel's name ("loop0", "sda1"): the node in /dev may have another, or there may be none.
Result<BlockDevice> block_device_of_name(const std::string& name);
// All that this process sees, oldest first; only a text is read, nothing that is mounted is
// touched.
Result<std::vector<MountFacts>> read_mounts(const std::string& mountinfo = "/proc/self/mountinfo");
// Where not knowing is as good as none.
std::vector<MountFacts> mounts(const std::string& mountinfo = "/proc/self/mountinfo");
Result<MountFacts> mount_of(const std::string& path);
// Whether it is this device that is mounted. Its source says so for btrfs alone, which has a number
// of its own: any user may mount a FUSE filesystem that calls itself /dev/sda.
bool is_mount_of(const MountFacts& mount, dev_t dev, const std::string& node);
Result<DiskStat> disk_stat(const std::string& disk);
// The same, but an error where the counters stand still (queue/iostats is 0).
Result<DiskStat> counting_stat(const std::string& disk);
// Everything below /sys/block/<disk>/queue/ that is a readable one-line file.
std::vector<std::pair<std::string, std::string>> queue_settings(const std::string& disk);
// "nomerges 0, now 2; ...": settings of `then` that are others now; empty: none is.
std::string changed_queue(const std::vector<std::pair<std::string, std::string>>& then,
                          const std::vector<std::pair<std::string, std::string>>& now);

}  // namespace blksweep
