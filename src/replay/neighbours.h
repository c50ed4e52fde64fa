// Who else used the disk while a trace was replayed on it: its latencies, and a queue that was
// full, are theirs, too.
//
// Counts:  the disk's statistics less what this process (and fio, once it has ended) made disks
//          read and write (os/block/own_reads.h).
// Unknown: without statistics, and where files are read for us by somebody else (FUSE): nothing is
//          said then, and `known` is false.
// Threads: one owner.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "os/block/blockdev.h"

namespace blksweep {

class Neighbours {
 public:
  // Begins to count. `disk`: name under /sys/block; empty: unknown. `path`: what is read.
  Neighbours(const std::string& disk, const std::string& path);

  struct Seen {
    std::optional<std::uint64_t> read_bytes, written_bytes;  // by others
    std::optional<std::uint64_t> own_read_bytes;             // by this process, from any disk
    std::string shared;  // a line when that is notable; empty when it is not
  };
  Seen seen() const;

 private:
  struct Counts {
    std::optional<DiskStat> disk;
    std::optional<std::uint64_t> own_read, own_written;
  };
  Counts count() const;

  std::string disk_;
  bool ours_;  // whether our reads are counted as ours
  Counts before_;
};

}  // namespace blksweep
