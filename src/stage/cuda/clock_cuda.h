// CudaClock: when a CUDA event passed, on CLOCK_MONOTONIC.
//
// CUDA gives only the time between two events, in float milliseconds (24 bits). So an origin event
// is recorded every few seconds, and every 20 ms an anchor: an event on an idle stream of its own
// that the host brackets between two readings of its clock. Anchors and what is timed are measured
// from an origin that the host had seen pass before they were recorded, so that no interval is
// negative or too long for the float.
//
// Threads: one owner, with the device in use.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "stage/cuda/anchor_clock.h"
#include "stage/cuda/device_cuda.h"

namespace blksweep {

class CudaClock {
 public:
  static Result<CudaClock> make();
  // Makes a new anchor when the last one is old. Call before recording what will be timed and again
  // when it has passed, so that an anchor is near; at most three calls may lie between the
  // recording and time_of().
  Result<> tick();
  struct Bounds {
    std::int64_t recorded_ns;  // the host's clock before cuEventRecord()
    std::int64_t least_ns;     // it cannot have passed before ...
    std::int64_t seen_ns;      // ... nor after the host had seen it pass
  };
  Result<std::int64_t> time_of(CUevent event, const Bounds& bounds);
  const ClockAlignment& alignment() const { return anchors_.alignment(); }

 private:
  struct Origin {
    Event event;
    DeviceTime at;
    std::int64_t passed_ns = 0;  // by then
  };
  // The host's clock around the event; nullopt: it has not passed within the host's patience.
  Result<std::optional<ClockReading>> read_clocks(CUevent event);
  Result<DeviceTime> since(const Origin& origin, CUevent event) const;
  Result<> renew_origin();
  Result<> anchor(int tries);

  Stream stream_;
  std::array<Origin, 4> origins_;
  std::size_t newest_ = 0;
  Event probe_;
  std::int64_t tried_ns_ = 0;
  std::int64_t good_half_ns_ = 0;  // half of a bracket that nothing disturbed
  AnchorClock anchors_;
};

}  // namespace blksweep
