// OpenPlan: which files a plan opens, in which order, and which read uses which of those opens.
//
// Open i lands in slot 1 + i % capacity (slot 0 is the block device), so the file that was opened
// longest ago makes room. That is decided before the run, and so other threads can open ahead.
//
// All opens of a group are with the engine before the first read of the group is submitted. So a
// read must not rely on a file whose slot a later open of its own group takes: it opens anew.
//
// Memory:  4 bytes per read and 4 per open.
// Threads: pure.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/plan.h"

namespace blksweep {

struct OpenPlan {
  std::uint32_t capacity = 1;          // files open at once
  std::uint32_t group = 1;             // most opens between two submissions
  std::vector<std::uint32_t> files;    // open -> file
  std::vector<std::uint32_t> open_of;  // read -> open; unused for device reads and holes

  std::uint32_t slot(std::uint32_t open) const { return 1 + open % capacity; }
  // Whether `open` surely keeps its slot to the end of a group in which `opened` opens are done.
  bool stays(std::uint32_t open, std::uint32_t opened) const {
    return open + capacity >= opened + group;
  }
};

// Where a plan's files live while it runs. group < capacity.
struct OpenLimits {
  std::uint32_t capacity = 1, group = 1;
};
OpenPlan make_open_plan(const Plan& plan, std::size_t files, const OpenLimits& limits);

}  // namespace blksweep
