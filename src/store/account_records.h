// Of a run: what stages and an accelerator did, and where the accelerator is (store/records.h has
// the run).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "store/maybe.h"

namespace blksweep {

// What copying cost the copy thread itself.
struct CopyCostRecord {
  std::uint64_t parts = 0, bytes = 0;
  std::int64_t cpu_ns = 0;
};

// What the accelerator's copy engines and its kernels did at the same time, on its own clock
// (stats/overlap.h). NULL: the run has no transfers, or no kernels.
struct OverlapRecord {
  Maybe<std::int64_t> transfer_ns, kernel_ns;  // under way; running
  Maybe<std::int64_t> both_ns, exposed_ns;     // of transfer_ns: with a kernel, without
  std::int64_t idle_ns = 0;                    // neither
  Maybe<std::uint64_t> bytes, hidden_bytes, slices;
  Maybe<std::int64_t> asked_ns;  // that the kernels were to take
  // Kernels whose data were there when the one before ended, and the time lost in front of them.
  Maybe<std::uint64_t> fed;
  Maybe<std::int64_t> fed_gap_ns, fed_gap_most_ns;
};

// How well the accelerator's clock was brought to CLOCK_MONOTONIC, and what that cost.
struct DeviceClockRecord {
  std::int64_t offset_ns = 0;
  Maybe<double> drift, drift_error;
  std::int64_t error_ns = 0, clamped_ns = 0;  // stated; met
  std::uint64_t anchors = 0;
  std::int64_t cost_ns = 0;  // of the threads that asked it
};

// The GPU that was used, and where it is.
struct AcceleratorRecord {
  std::string name, uuid, pci;
  Maybe<std::int64_t> numa_node, disk_numa_node;
  Maybe<std::uint32_t> link_generation, link_generation_most, link_width, link_width_most;
};

struct LaneRecord {
  std::string lane;  // "read", "decode", "copy", "compute"
  std::int64_t busy_ns = 0, hidden_ns = 0, exposed_ns = 0;
  std::vector<std::pair<std::string, std::int64_t>> stalls;  // cause -> ns, every cause
};

// Who was busy when and why each lane stood still: stats/account.h, docs/account.md.
struct AccountRecord {
  std::int64_t wall_ns = 0, union_ns = 0, overlap_ns = 0;
  std::int64_t ideal_ns = 0;  // busy time of the longest lane
  std::string longest_lane;
  std::int64_t batch_life_ns = 0;  // summed over batches, first submission until given back
  std::vector<LaneRecord> lanes;
  std::vector<std::pair<std::string, std::int64_t>> phases;  // phase of a batch -> ns, summed
};

}  // namespace blksweep
