// Consumer: what uses a batch that has arrived, for a time that the experiment sets.
//
// Work is queued ahead, as a training loop does that runs ahead of its accelerator: launch() puts a
// batch behind its arrival and behind the batch before, finish() waits until it is through. So
// nothing of this program lies between two batches when their data are there.
//
// Order:   batches are launched and finished in ascending order, at most `ahead` of them (as the
//          stage was made) between the two.
// Errors:  an Error ends the run; Exit::interrupted: a stop came first, the batch is not through.
//          What was launched and not finished ends before the consumer does.
// Threads: launch() on one, finish() on another; of a batch launch() has returned before finish()
//          is called.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>

#include "base/batch_times.h"
#include "base/result.h"
#include "base/units.h"
#include "stage/batch_arrival.h"
#include "stage/clock_alignment.h"

namespace blksweep {

// When the accelerator was busy with a batch.
struct ComputeTimes {
  TimeSpan host;    // CLOCK_MONOTONIC
  TimeSpan device;  // its own clock (base/device_span.h)
};

class Consumer {
 public:
  virtual ~Consumer() = default;
  Consumer(const Consumer&) = delete;
  Consumer& operator=(const Consumer&) = delete;

  // As CopyStage's, and before it: an accelerator's clocks come to where they stay under load.
  virtual Result<> warm_up() { return {}; }
  // Whether work can be queued behind an arrival that has not come yet; behind one that has it can.
  virtual bool waits_for(const BatchArrival& arrival) const = 0;
  // Keeps the accelerator busy for `takes` with a batch, from its arrival on. Returns at once.
  virtual Result<> launch(std::uint32_t batch, Nanos takes, const BatchArrival& arrival) = 0;
  virtual Result<ComputeTimes> finish(std::uint32_t batch) = 0;
  virtual std::optional<ClockAlignment> alignment() const { return std::nullopt; }

 protected:
  Consumer() = default;
};

// An accelerator that is not there: a batch begins when it was launched, has arrived and the one
// before is through, and is through `takes` later, however late a thread wakes up. finish() sleeps
// until then, or until the stop.
std::unique_ptr<Consumer> make_emulated_consumer(std::uint32_t ahead, std::stop_token stop = {});

}  // namespace blksweep
