// Consumer: what uses a batch that has arrived, for a time that the experiment sets.
//
// Errors:  an Error ends the run; Exit::interrupted: a stop came first, the batch is not through.
// Threads: one; consume() returns when the batch is through.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>

#include "base/batch_times.h"
#include "base/result.h"
#include "base/units.h"
#include "stage/clock_alignment.h"

namespace blksweep {

class Consumer {
 public:
  virtual ~Consumer() = default;
  Consumer(const Consumer&) = delete;
  Consumer& operator=(const Consumer&) = delete;

  // Keeps the accelerator busy for `takes` with a batch that has been on it since `arrived_ns`
  // (CLOCK_MONOTONIC, not later than now). Returns when it was busy with it.
  virtual Result<TimeSpan> consume(std::uint32_t batch, Nanos takes, std::int64_t arrived_ns) = 0;
  virtual std::optional<ClockAlignment> alignment() const { return std::nullopt; }

 protected:
  Consumer() = default;
};

// An accelerator whose work is queued ahead: a batch begins when it has arrived and the one before
// is through, and is through `takes` later, however late this thread wakes up. It sleeps until
// then, or until the stop.
std::unique_ptr<Consumer> make_emulated_consumer(std::stop_token stop = {});

}  // namespace blksweep
