// What `blksweep probe --live` shows of one interval: pure text, as wide and high as the screen.
//
// What there is no room for goes in this order: past intervals, rows of the histograms, the lines
// at the end. All numbers are of the interval alone but for the losses, which are since the start.
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "cli/probe/file_traffic.h"
#include "cli/terminal.h"
#include "os/block/blockdev.h"
#include "probe/block_probe.h"

namespace blksweep {

struct LiveFrame {
  std::string heading;  // which disk, and its queue
  double at_s = 0, length_s = 1;
  ProbeReport interval;
  ProbeReport total;                   // since the start
  std::optional<DiskStat> stat;        // of /sys/block/*/stat, over the interval
  std::int64_t view_ns = 0;            // CPU of this process
  std::optional<FileTraffic> traffic;  // of the interval; none: nobody asked
  std::deque<std::string> past;        // interval_line() of each, newest first
};

std::vector<ScreenLine> live_screen(const LiveFrame& frame, const ScreenSize& size);

}  // namespace blksweep
