// When the reads of a replay reached the driver: issue times from the block layer itself, in the
// same way for our replay and for that of another tool.
//
// Matching: by address and length, oldest first; what was merged or split on the way has no match
//           and is counted as missing. A replay's time 0 is taken from its own reads: the one that
//           was least late is on time, which favours whom we cannot ask.
// Errors:   as open_block_recorder().
// Threads:  one owner; a thread of its own empties the ring.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <thread>
#include <vector>

#include "base/result.h"
#include "probe/record_events.h"
#include "replay/certificate.h"

namespace blksweep {

struct DueRead {
  std::int64_t due_ns;
  std::uint64_t offset;  // on the whole disk
  std::uint32_t bytes;
};

struct DriverLateness {
  std::optional<LateQuantiles> lateness;  // of the matched; nullopt: there is none
  LogHistogram histogram;                 // of lateness
  std::uint64_t matched = 0, missing = 0, lost = 0;
};

struct DriverIssue {
  std::int64_t at_ns;
  std::uint64_t offset, bytes;
};

// Both in the order of time.
DriverLateness lateness_of(std::span<const DriverIssue> issues, std::span<const DueRead> reads);

// A recorder that was started, whose ring a thread empties until the end.
class RingDrain {
 public:
  explicit RingDrain(Recorder& recorder);
  RingDrain(const RingDrain&) = delete;
  RingDrain& operator=(const RingDrain&) = delete;
  // Stops the recorder, and takes what is left.
  Result<> end();

 private:
  Result<> drain_until(const std::stop_token& told);

  Recorder& recorder_;
  Result<> drained_;
  std::jthread thread_;
};

class DriverWatch {
 public:
  static Result<std::unique_ptr<DriverWatch>> begin(dev_t whole_disk);
  DriverWatch(const DriverWatch&) = delete;
  DriverWatch& operator=(const DriverWatch&) = delete;

  Result<DriverLateness> end(std::span<const DueRead> reads);

 private:
  DriverWatch() = default;

  std::vector<DriverIssue> issues_;
  std::unique_ptr<Recorder> recorder_;
  std::optional<RingDrain> drain_;
};

}  // namespace blksweep
