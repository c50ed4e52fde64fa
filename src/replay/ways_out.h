// What to try after an unfaithful replay, by what made it so: a setting that was seen to help
// (docs/replay.md has the figures), else what to leave alone.
//
// Errors:  none; what no setting helps against has no words ("").
#pragma once

#include <cstdint>
#include <string>

#include "replay/request.h"

namespace blksweep {

struct WaysOut {
  std::string late;     // the tool issued too late
  std::string stalled;  // it did not look for too long
  std::string stopped;  // the process did not run
  std::string pace;     // of untimed requests: places in the queue were free
  std::string missing;  // requests have no place, failed, or gave too little
  double speed = 0;     // of timed ones, as it was: a lower one asks for less; 0: does not
};

struct WaysAsked {
  bool sleeps = true;  // the tool may, until a read is due (spin.h)
  bool timed = true;
  bool buffered = false;
  std::int64_t spin_ns = 0, quantum_ns = 1;
  double speed = 1;
  unsigned depth = 1;
  std::string disk = {};  // name under /sys/block
  const LeftOut& left_out;
};
WaysOut ways_out(const WaysAsked& asked);

// "--speed 0.31": at which `peak` requests/s become a bit less than half of `own`; "": no way.
std::string slower(const WaysOut& ways, double peak, double own);

// A reason that ends in what to try.
std::string with_way(std::string reason, const std::string& way);

}  // namespace blksweep
