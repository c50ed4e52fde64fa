// CudaClock: when a CUDA event passed, on CLOCK_MONOTONIC.
//
// CUDA gives only the time between two events, in float milliseconds. So a few reference events are
// recorded on a stream of their own, each bracketed by host clock readings; an event is timed from
// a reference that the host saw pass before the event was recorded, which is recent enough for the
// float's 24 bits.
//
// Threads: one owner, with the device in use.
#pragma once

#include <array>
#include <cstdint>

#include "stage/anchor_clock.h"
#include "stage/device_cuda.h"

namespace blksweep {

class CudaClock {
 public:
  static Result<CudaClock> make();
  // Makes a new reference when the last one is old. Call before recording what will be timed; at
  // most two such calls may lie between the recording and its time_of().
  Result<> tick();
  struct Bounds {
    std::int64_t recorded_ns;  // the host's clock before cudaEventRecord()
    std::int64_t least_ns;     // it cannot have passed before ...
    std::int64_t seen_ns;      // ... nor after the host had seen it pass
  };
  Result<std::int64_t> time_of(cudaEvent_t event, const Bounds& bounds);
  const ClockAlignment& alignment() const { return anchors_.alignment(); }

 private:
  struct Reference {
    Event event;
    ClockReading reading;
  };
  Result<ClockReading> read_clocks(cudaEvent_t event);
  Result<> anchor(int tries);

  Stream stream_;
  std::array<Reference, 4> references_;
  std::size_t newest_ = 0;
  AnchorClock anchors_;
};

}  // namespace blksweep
