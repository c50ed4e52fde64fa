// BlockProbe: watches one block device through eBPF while a run is under way.
//
// Counts issued requests, bytes and merges, keeps the depth at the driver and in the scheduler, and
// samples both at 1 kHz from a timer inside the kernel. Nothing is polled: programs are attached
// between start() and stop() only, so what runs before and after is not slowed down.
//
// Meaning:   docs/measurement.md, "The queue-depth probe". Requests, bytes, seeks, merges and the
//            histograms are of reads; depths are of all requests, because all of them occupy the
//            device.
// Errors:    open_block_probe() fails with Exit::unsupported and a reason (no BTF, not root, built
//            with BPF=0, a device without requests); a run goes on without it and says so.
// Lifetime:  start() resets all counters; stop() returns what was seen since. Detached by stop()
//            and by the destructor.
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

#include "base/request_origin.h"
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
  std::optional<std::int64_t> latency_ns = {};  // from its first issue to its completion
  ReadOrigin origin = {};                       // only with ProbeSettings::origins
};

using ProbeBuckets = std::vector<std::pair<std::uint64_t, std::uint64_t>>;  // lower bound, count

// Counts that are nothing rather than 0 are those whose programs the kernel refused.
struct ProbeReport {
  std::uint64_t requests = 0, bytes = 0;          // distinct reads issued to the driver
  std::optional<std::uint64_t> plug_merges;       // bios put into a request still in the plug
  std::optional<std::uint64_t> scheduler_merges;  // bios or requests merged in the scheduler
  std::uint64_t seeks = 0;               // reads that do not begin where the read before ended
  std::uint64_t other_requests = 0;      // writes, flushes, discards ...
  OtherRequests others;                  // of these
  bool origins = false, makers = false;  // issues have origins; with processes
  // This process, as issues number processes: not as its own pid namespace does. 0: not known.
  std::uint32_t self = 0;
  std::optional<std::uint64_t> requeues;  // handed back by the driver (its ring was full)
  std::optional<std::uint64_t> splits;    // of bios that were too long for one request
  // Requests of this process's rings, whatever they read, that io_uring handed to a worker.
  std::optional<std::uint64_t> punted;
  std::uint64_t healed = 0;       // completions that never arrived, found by tag reuse or at stop
  std::uint64_t healed_ns = 0;    // at most so long were those at the driver, all together
  std::uint64_t lost_events = 0;  // events not seen or without a place: counts are too low
  std::uint64_t depth_ns = 0;     // time at the driver, summed over all attempts of requests
  std::uint64_t orphan_ns = 0;    // of it, of requests that were there before the start
  std::uint64_t busy_ns = 0;      // time with at least one request at the driver
  // depth_ns / busy_ns: driver depth over time with I/O; nothing where lost completions leave it
  // open by more than kDepthUncertainty (probe_math.h).
  std::optional<double> depth_mean;
  std::optional<double> stat_difference;  // |requests - stat| / stat
  // Both depths at this moment, and their sums over ticks of 1 ms, idle ones included.
  std::uint64_t driver_now = 0, scheduler_now = 0, driver_sum = 0, scheduler_sum = 0, ticks = 0;
  std::optional<std::uint64_t> programs_ns;  // in the probe's own programs; see ProbeSettings::cost
  ProbeBuckets depth;          // found at issue by each read, itself included; exact below 1024
  ProbeBuckets request_bytes;  // steps of 4 KiB, exact for multiples of it below 4 MiB
  ProbeBuckets latency_ns;     // issue to completion; 32 buckets per octave
  std::vector<ProbeSample> series;
  std::vector<ProbeIssue> issues;
  // Reads on their way there: bios as they were submitted, requests as they were inserted. Only
  // with ProbeSettings::layers; none is inserted where requests go from the plug to the driver.
  std::vector<ProbeIssue> queued, inserted;
  std::uint64_t samples_left_out = 0, issues_left_out = 0;  // thinned evenly, not lost
  std::uint64_t logged = 0;                                 // reads that the log was told of
  std::uint64_t passed_left_out = 0;                        // of queued and inserted, likewise
  std::vector<std::string> warnings;
};

class BlockProbe {
 public:
  virtual ~BlockProbe() = default;
  virtual Result<> start() = 0;
  // What was counted since start(), while it goes on: without series, issues and stat_difference.
  virtual Result<ProbeReport> snapshot() = 0;
  // Reads from number `from` on of those that were logged until `report`, as far as the log has
  // kept them. While it goes on: one that is just being written may be missing.
  virtual std::vector<ProbeIssue> issues_since(std::uint64_t from, const ProbeReport& report) = 0;
  virtual Result<ProbeReport> stop() = 0;
};

struct ProbeSettings {
  // The largest nr_requests that the disk will have while the probe lives; 0: what it has now. A
  // request whose tag is beyond the probe's table is a lost event.
  std::uint32_t requests = 0;
  bool layers = false;  // follow reads through the block layer, with longer logs: costs more
  // Who made each read and what it is for, with a longer log of issues: costs more.
  bool origins = false;
  // For tests: tracepoints that count as missing, and those whose programs the kernel is made to
  // refuse; "origins": block_rq_issue as long as it looks at origins.
  std::vector<std::string> without = {}, spoilt = {};
  // The kernel shall take the time of all BPF programs while the probe lives, which makes each run
  // of one some 20 ns longer. Refused: programs_ns is nothing.
  bool cost = false;
};

// `whole_disk` is the device number of the disk (not of a partition).
Result<std::unique_ptr<BlockProbe>> open_block_probe(dev_t whole_disk,
                                                     const ProbeSettings& settings = {});

}  // namespace blksweep
