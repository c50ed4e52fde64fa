// The same reads through fio's own replay (read_iolog, version 3): at the same times, on the same
// device, with the same depth.
//
// Errors:  unsupported when fio is not installed; what fio said when it failed.
// Source:  fio(1) "read_iolog", "Trace file format v3".
// Threads: one; waits for fio.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "replay/driver_watch.h"

namespace blksweep {

struct FioReplay {
  std::string version;
  DriverLateness lateness;
};

struct FioReplaySettings {
  std::string device;  // node
  dev_t whole_disk = 0;
  std::uint64_t partition_start = 0;  // of the node on its disk, bytes
  unsigned depth = 0;
};

Result<FioReplay> replay_by_fio(std::span<const DueRead> reads, const FioReplaySettings& settings,
                                const std::atomic<bool>& stop);

}  // namespace blksweep
