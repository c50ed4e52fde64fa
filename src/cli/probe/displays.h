// How `blksweep probe` shows what it sees: lines, one JSON document, JSON lines, a screen.
//
// Threads: the main thread. Who calls stops when ended() says so.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "cli/probe/file_traffic.h"
#include "os/block/blockdev.h"
#include "probe/block_probe.h"

namespace blksweep {

struct SeenInterval {
  std::int64_t begin_ns = 0, from_ns = 0, to_ns = 0;  // of the watch, of this interval
  ProbeReport counts, total;                          // in the interval, since the begin
  std::optional<DiskStat> stat;                       // of /sys/block/*/stat in the interval
  std::optional<FileTraffic> traffic;                 // of the interval, where it is shown
  std::int64_t view_ns = 0;                           // CPU of this process in the interval
};

class Display {
 public:
  virtual ~Display() = default;
  virtual void show(const SeenInterval& interval) = 0;
  // `traffic`: what reads were for; nullptr: nobody asked.
  virtual void finish(const ProbeReport& report, std::int64_t length_ns,
                      const FileTraffic* traffic) = 0;
  // Until then, or until something wants to be looked at.
  virtual void wait_until(std::int64_t when_ns);
  virtual void draw() {}  // the newest interval again: the screen has another size
  virtual bool ended() const;
  virtual bool broken_off() const;  // by the user
};

enum class DisplayKind : std::uint8_t { lines, document, json_lines, screen };
// Where there is no terminal, lines in place of a screen.
std::unique_ptr<Display> make_display(DisplayKind kind, const BlockDevice& device);

}  // namespace blksweep
