// BlockProbe: watches one block device through eBPF while a run is under way.
//
// Counts issued requests, bytes and merges, keeps the depth at the driver and in the scheduler, and
// samples both at 1 kHz from a timer inside the kernel.
//
// Errors:    open() fails with Exit::unsupported and a reason (no BTF, not root, built with BPF=0);
//            a run goes on without it and says so.
// Lifetime:  start() resets all counters; stop() returns what was seen since. Detached by the
//            destructor.
// Truth:     stop() compares its request count with /sys/block/*/stat over the same interval.
// Threads:   one owner.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace blksweep {

struct ProbeSample {
  std::int64_t at_ns;  // CLOCK_MONOTONIC
  std::uint32_t driver_depth;
  std::uint32_t scheduler_depth;
};

struct ProbeIssue {
  std::int64_t at_ns;
  std::uint64_t sector;  // on the whole disk
  std::uint32_t bytes;
};

using ProbeBuckets = std::vector<std::pair<std::uint64_t, std::uint64_t>>;  // lower bound, count

struct ProbeReport {
  std::uint64_t requests = 0, bytes = 0, plug_merges = 0, scheduler_merges = 0;
  std::uint64_t healed = 0;       // completions that never arrived, found by pointer reuse or at stop
  std::uint64_t lost_events = 0;  // ring or map full
  std::optional<double> depth_mean;       // driver depth, mean over time with I/O
  std::optional<double> stat_difference;  // |requests - stat| / stat
  ProbeBuckets depth, request_bytes, latency_ns;
  std::vector<ProbeSample> series;
  std::vector<ProbeIssue> issues;
  std::vector<std::string> warnings;
};

class BlockProbe {
 public:
  virtual ~BlockProbe() = default;
  virtual Result<> start() = 0;
  virtual Result<ProbeReport> stop() = 0;
};

// `whole_disk` is the device number of the disk (not of a partition).
Result<std::unique_ptr<BlockProbe>> open_block_probe(dev_t whole_disk);

}  // namespace blksweep
