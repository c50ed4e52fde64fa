// OpenPlan: which files a plan opens, in which order, and which read uses which of those opens.
//
// Open i lands in slot 1 + i % capacity (slot 0 is the block device), so the file that was opened
// longest ago makes room. That is decided before the run, and so other threads can open ahead.
//
// Memory:  4 bytes per read and 4 per open.
// Threads: pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan/plan.h"

namespace blksweep {

struct OpenPlan {
  std::uint32_t capacity = 1;          // files open at once
  std::size_t reads = 0;               // of files
  std::vector<std::uint32_t> files;    // open -> file
  std::vector<std::uint32_t> open_of;  // read -> open; unused for device reads and holes

  std::uint32_t slot(std::uint32_t open) const { return 1 + open % capacity; }
};

OpenPlan make_open_plan(const Plan& plan, std::size_t files, std::uint32_t capacity);

}  // namespace blksweep
