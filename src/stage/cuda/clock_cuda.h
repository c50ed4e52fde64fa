// CudaClock: when a CUDA event passed, on CLOCK_MONOTONIC and on the GPU's own clock.
//
// CUDA gives only the time between two events, in float milliseconds (24 bits). So an origin event
// is recorded every few seconds, and every 20 ms an anchor: an event on an idle stream of its own
// that the host brackets between two readings of its clock. Anchors and what is timed are measured
// from an origin that the host had seen pass before they were recorded, where there still is one,
// so that no interval is too long for the float.
//
// A device has one clock: copies and kernels are compared on it. Anchors are made by a thread of
// its own, from restart() on: no copy and no kernel waits for one.
//
// Threads: any, with the device in use; restart() with nothing under way.
#pragma once

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "base/batch_times.h"
#include "stage/cuda/anchor_clock.h"
#include "stage/cuda/device_cuda.h"

namespace blksweep {

class CudaClock {
 public:
  // Made when nobody has it; goes with the last one who does.
  static Result<std::shared_ptr<CudaClock>> of(std::uint32_t device);
  ~CudaClock();

  // A new epoch begins: what is stated of errors and costs is of that, and the GPU's own clock is
  // set to the host's.
  Result<> restart();

  struct Bounds {
    std::int64_t recorded_ns;  // the host's clock before cuEventRecord()
    std::int64_t least_ns;     // it cannot have passed before ...
    std::int64_t seen_ns;      // ... nor after the host had seen it pass
  };
  struct Moment {
    std::int64_t host_ns;
    std::int64_t device_ns;  // base/device_span.h
  };
  Result<Moment> time_of(CUevent event, const Bounds& bounds);
  // From one moment to another by the GPU itself, as early as what the host saw asks for; what is
  // longer than that is cut.
  struct Interval {
    TimeSpan host, device;

    // Of work that the host asked for after the event in front of it had been recorded: on an idle
    // stream that event passes at once, and the host may be interrupted in between.
    void begin_not_before(std::int64_t host_ns) {
      const std::int64_t late = std::clamp<std::int64_t>(host_ns - host.begin, 0, host.length());
      host.begin += late;
      device.begin = std::min(device.begin + late, device.end);
    }
  };
  Result<Interval> between(CUevent begin, CUevent end, const Bounds& bounds);
  // A time of the host's that was counted from such a moment, cut in the same way.
  std::int64_t within(std::int64_t host_ns, std::int64_t least_ns, std::int64_t seen_ns);
  ClockAlignment alignment() const;

 private:
  struct Origin {
    Event event;
    DeviceTime at;
    std::int64_t passed_ns = 0;  // by then
  };
  explicit CudaClock(std::uint32_t device) : device_(device) {}
  Result<> open();
  // The host's clock around the event; nullopt: it has not passed within the host's patience.
  Result<std::optional<ClockReading>> read_clocks(CUevent event, std::int64_t patience_ns);
  Result<DeviceTime> since(const Origin& origin, CUevent event) const;
  Result<> renew_origin();
  Result<> anchor(int tries);
  void stop();
  void tick();
  bool ticked();

  const std::uint32_t device_;
  Stream stream_;
  Event probe_;
  // Of who makes anchors: the thread, and restart() without one.
  std::int64_t good_half_ns_ = 0;  // half of a bracket that nothing disturbed
  mutable std::mutex mutex_;       // of what follows
  std::array<Origin, 8> origins_;
  std::size_t newest_ = 0;
  AnchorClock anchors_;
  std::int64_t cost_ns_ = 0;
  bool stopping_ = false;
  std::condition_variable wake_;
  std::thread ticker_;
};

}  // namespace blksweep
