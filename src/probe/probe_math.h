// From what the kernel side left in its maps to a ProbeReport: arithmetic only, no system calls.
//
// Source:  ebpf/wire/block_probe.h lays out the input.
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "probe/block_probe.h"
#include "wire/block_probe.h"

namespace blksweep {

// Smallest latency that falls into a bucket, and its width.
std::uint64_t latency_lower_bound(std::uint32_t bucket);
std::uint64_t latency_bucket_width(std::uint64_t lower_bound);

// Which counts are counts: those whose programs are attached.
struct ProbeSight {
  bool bio_merges = true;      // back and front
  bool request_merges = true;  // of two requests of the scheduler
  bool requeues = true;
  bool splits = true;
  bool punts = true;
};

// Counters, histograms and depths as of `now_ns`; the shared part must be a copy.
ProbeReport count_report(std::span<const blk_probe_counts> per_cpu, const blk_probe_shared& shared,
                         std::int64_t now_ns, const ProbeSight& sight = {});

// How far depth_mean may be off, as a share of it, because nobody knows when healed requests ended:
// none of their time is in depth_ns, and busy_ns may be too long by all of it. Nothing: without
// bound, or there is no mean.
std::optional<double> depth_uncertainty(const ProbeReport& report);
inline constexpr double kDepthUncertainty = 0.05;
// depth_ns / busy_ns; nothing where it is less certain than that.
std::optional<double> certain_depth(const ProbeReport& report);

// 2^bits slots per hardware queue: room for twice the tags, because a scheduler has tags of its
// own, by default twice the driver's.
std::uint32_t slot_bits_for(std::uint32_t tags);

// Which entries of a thinned log of 2^bits entries hold its events from number `from` on after
// `seen` events, in order of their numbers (block_probe.bpf.c, log_entry).
std::vector<std::uint32_t> log_entries(std::uint64_t seen, unsigned bits, std::uint64_t from = 0);

// Reads and all requests in flight, as the kernel counts them (/sys/block/*/inflight).
struct InFlight {
  std::uint64_t reads = 0;
  std::uint64_t all = 0;
};

// Time at the driver, until now, of requests that are there; `but_oldest` of them are left out.
std::uint64_t time_there(std::span<const blk_probe_slot> slots, std::int64_t now_ns,
                         std::uint64_t but_oldest = 0);
// Adds it to a report, whose mean depth is then that of the time until now.
void add_time_there(ProbeReport& report, std::uint64_t ns);

// What the slots say at stop against what the kernel says.
struct Settlement {
  std::uint64_t healed = 0;           // issued in our books, gone in the kernel's
  std::uint64_t healed_ns = 0;        // since their issue: the oldest are the ones that are gone
  std::uint64_t reads_in_flight = 0;  // counted by us, not yet by /sys/block/*/stat
  std::uint64_t there_ns = 0;         // time_there() of the others
};
Settlement settle(std::span<const blk_probe_slot> slots, InFlight at_stop, std::int64_t now_ns);

// |ours - stat| / stat, where `ours` is turned into what stat counts: completed reads.
struct StatCheck {
  std::uint64_t requests = 0;         // issued since the start
  std::uint64_t orphans = 0;          // completed since the start, issued before it
  std::uint64_t reads_in_flight = 0;  // at the stop
  std::uint64_t stat_reads = 0;       // delta of /sys/block/*/stat
};
std::optional<double> stat_difference(const StatCheck& check);

// Value below which `share` (0 to 1) of a latency histogram lies: middle of the bucket, so off by
// 1.6 % at most. Nothing for an empty histogram.
std::optional<double> latency_percentile(const ProbeBuckets& latency_ns, double share);
std::optional<double> latency_mean(const ProbeBuckets& latency_ns);

// What happened between two snapshots of one probe.
ProbeReport between(const ProbeReport& before, const ProbeReport& after);

ProbeIssue to_issue(const blk_probe_issue& logged);

}  // namespace blksweep
