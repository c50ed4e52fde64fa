// What is watched from outside while an epoch runs: limits, residency, the clock, the GPU, the
// probe, the disk's counters and this process's own.
//
// Each is an observer with a beginning, an end and the fields of the record that it fills; they
// begin in order and end in reverse. Another thing to watch is one more class in observe.cpp.
// Errors:  what cannot be observed stays unknown in the record, with a warning that says why. Only
//          limits that cannot be entered or left end the run.
// Threads: one owner; begin() and end() around the epoch, on the thread that reads.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "experiment/measure.h"

namespace blksweep {

class Observer {
 public:
  virtual ~Observer() = default;
  virtual Result<> begin() { return {}; }
  virtual Result<> end(RunRecord& record) = 0;
};

// For one run of a cell; what the request borrows is borrowed here, too.
std::vector<std::unique_ptr<Observer>> observers_of(const RunRequest& request);

// The kernel does not always tell the probe that a request ended (docs/probe.md). Above 1 % of
// them, depth and latency are not those of the disk: the run has none, and says why. Requests,
// bytes and merges are of what was issued, and stay; so do the run's own times.
void withhold_unsure_depth(RunRecord& run);

}  // namespace blksweep
