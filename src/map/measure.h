// Measures a latency map of a block device or a file: direct reads only, never a write.
//
// A file is read at its own offsets: distance then means distance in the file, which is distance on
// the device only as far as the file is contiguous (a warning says so).
//
// Unwritten: addresses that the filesystem or a backing file says were never written are left out,
//          because they are answered without a medium. Where nothing tells, and some places answer
//          much faster than others, a warning points out the two modes. An emulated disk has its
//          model's timing everywhere: all of it is read.
//
// Errors:  usage for what is no device or regular file, or is too small; failed for what cannot be
//          opened (a device needs root or group disk); unsupported for a filesystem without
//          O_DIRECT, and for the depth part alone where io_uring is refused: beside others it is
//          left out, with a warning. Reads that fail are counted in a warning; ten end the map.
// Threads: the caller's; `stop` may be set by any (a signal handler): it ends the map between reads
//          with what was measured and map.interrupted.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "model/latency_map.h"

namespace blksweep {

struct MapSettings {
  std::string path;  // device or file
  Nanos time = std::chrono::seconds(60);
  std::uint64_t seed = 1;
  std::vector<MapPart> parts;
  bool unwritten = false;  // reads addresses, too, that were never written
  const std::atomic<bool>* stop = nullptr;
  std::function<void(MapPart, std::int64_t)> on_progress;
};

struct MeasuredMap {
  LatencyMap map;
  std::string disk;    // name under /sys/block; empty: unknown
  std::string engine;  // "psync, io_uring above depth 1"; "psync" where the ring is refused
  std::vector<std::string> warnings;
};

// What measure_map() refuses, before it reads anything.
Result<> check_map(const MapSettings& settings);

Result<MeasuredMap> measure_map(const MapSettings& settings);

}  // namespace blksweep
