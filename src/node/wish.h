// NodeWish: the settings that a run asks of the node, as values.
//
// Set by:  experiment/run_node.h for a run, cli/node_exec.h for a command.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/units.h"
#include "os/block/io_priority.h"

namespace blksweep {

// What is asked of the node; it is borrowed for a run and put back after it.
struct NodeWish {
  std::string scheduler;  // empty: as it is
  std::optional<std::uint32_t> nr_requests;
  std::optional<std::uint32_t> nomerges;  // 0 merge, 1 only with the last request, 2 never
  std::optional<Bytes> read_ahead;
  std::optional<Bytes> memory_limit;
  std::optional<Bytes> bandwidth_limit;  // per second
  std::optional<std::uint64_t> iops_limit;
  bool pin_inodes = false;
  double pin_pages = 0;   // percent of the bytes, whole files
  std::string bind;       // node/limits/binding.h; empty: threads run where they like
  std::uint32_t gpu = 0;  // of near-gpu in `bind`; --device-index
  std::optional<IoPriority> io_priority;

  bool changes_queue() const { return !scheduler.empty() || nr_requests || nomerges || read_ahead; }
  bool limits_io() const { return bandwidth_limit || iops_limit; }
};

}  // namespace blksweep
