// check_memory: whether an epoch's buffers may be had, asked before the first is touched: a node
// without memory ends programs, and not always the one that asked.
//
// Errors:  more than is free and than four fifths of the node's, or as much as the own cgroup may
//          have; names the option that helps.
// Threads: any.
#pragma once

#include <initializer_list>
#include <optional>

#include "base/result.h"
#include "base/units.h"
#include "loader/settings.h"

namespace blksweep {

struct NodeMemory {
  Bytes free, all;
  std::optional<Bytes> limit = {};  // of the own cgroup
};
NodeMemory node_memory();

// All of the buffers, at one time.
Result<> check_memory(std::initializer_list<Bytes> buffers, const LoaderSettings& settings,
                      const NodeMemory& node = node_memory());

}  // namespace blksweep
