// CellSettings: one combination of everything that an experiment can vary.
//
// Values only; text is parsed in cli/ and words for records come from there too.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "base/units.h"
#include "io/engine.h"
#include "node/binding.h"
#include "plan/settings.h"
#include "stage/compute_time.h"
#include "stage/stage_settings.h"

namespace blksweep {

enum class CacheState { cold, warm, keep };

// A size that may be given relative to the data set: "64MiB" or "10%".
struct RelativeSize {
  Bytes bytes{0};
  double percent = 0;  // > 0: of `whole`, and bytes is ignored
  Bytes of(Bytes whole) const {
    return percent > 0
               ? Bytes{static_cast<std::uint64_t>(percent / 100 * static_cast<double>(whole.n))}
               : bytes;
  }
};

// A number of reads that may be given as a share of the depth: "8" or "25%".
struct DepthShare {
  std::uint32_t reads = 0;
  double percent = 0;  // > 0: of the depth, and `reads` is ignored
  std::uint32_t of(std::uint32_t depth) const {
    const double share = percent > 0 ? percent / 100 * depth : reads;
    return std::clamp(static_cast<std::uint32_t>(share), 1U, depth);
  }
};

// What a cell asks of the node; it is borrowed for the run and put back after it (lab/run_node.h).
struct NodeWish {
  std::string scheduler;  // empty: as it is
  std::optional<std::uint32_t> nr_requests;
  std::optional<Bytes> read_ahead;
  std::optional<Bytes> memory_limit;
  std::optional<Bytes> bandwidth_limit;  // per second
  std::optional<std::uint64_t> iops_limit;
  bool pin_inodes = false;
  double pin_pages = 0;  // percent of the bytes, whole files
  std::string bind;      // node/binding.h; empty: threads run where they like
  std::optional<IoPriority> io_priority;

  bool changes_queue() const { return !scheduler.empty() || nr_requests || read_ahead; }
  bool limits_io() const { return bandwidth_limit || iops_limit; }
};

struct CellSettings {
  Order order = Order::lba;
  Bytes chunk{std::uint64_t{4} << 20};
  RelativeSize sort_window;
  Merge merge = Merge::none;
  Bytes merge_gap{std::uint64_t{64} << 10};
  Bytes merge_max{std::uint64_t{1} << 20};
  std::optional<Bytes> merge_horizon;  // merge=device; without: horizon_of() chooses
  DepthShare merge_batch{0, 50};       // merge=kernel: reads sorted and submitted together
  Shuffle shuffle = Shuffle::none;
  RelativeSize window{Bytes{std::uint64_t{64} << 20}, 0};
  EngineKind engine = EngineKind::io_uring;
  // Else another may take its place (fallback.h).
  bool order_named = false, engine_named = false, window_named = false;
  // What was asked for by name where `order` is what took its place.
  std::optional<Order> order_asked;
  std::optional<Merge> merge_asked;  // likewise
  bool addresses_refused = false;    // what sorts by address sorts by inode
  bool direct = true;
  std::uint32_t depth = 32;
  DepthShare refill{0,
                    25};  // reads that complete before more are submitted; the same in all orders
  std::uint32_t openers = 1;  // threads that open files ahead of the reader
  std::uint32_t batch = 256;
  std::uint32_t prefetch = 2;
  std::uint32_t decode_threads = 0;  // 0: samples come as they are stored
  CopyKind copy = CopyKind::none;
  CopyTuning copy_tuning;
  ConsumerKind consumer = ConsumerKind::none;
  ComputeTime compute;
  std::uint32_t device_index = 0;  // of the GPU
  CacheState cache = CacheState::keep;
  std::uint32_t epochs = 1;
  std::string arm;  // tells equal cells apart, which are compared to see what noise alone does
  NodeWish node;
};

// Within how many bytes of the order merge=device may follow the device instead; 0: it keeps the
// order. Only where the order is sorted by address, and never more than a chunk of it.
Bytes horizon_of(const CellSettings& cell);

// Reads of merge=kernel that are handed over together; 0: other merges have no such groups.
std::uint32_t submit_batch_of(const CellSettings& cell);

// Reads that complete before more are submitted. Whole groups of merge=kernel at least.
std::uint32_t refill_of(const CellSettings& cell);

}  // namespace blksweep
