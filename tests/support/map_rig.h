// Maps a DiskModel in virtual time with the plan and schedule of the real thing: what `blksweep
// map` would measure of that model, with the noise of a host on top.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/latency_map.h"
#include "model/model_spec.h"

namespace blksweep {

struct HostNoise {
  double least_us = 20, most_us = 60;  // on each read, uniform
  double outliers = 0.01;              // share of reads that the host holds up for 1 to 5 ms
};

struct MapRigSettings {
  ModelSpec model;
  std::uint64_t size = std::uint64_t{8} << 30;
  double seconds = 60;
  std::uint64_t seed = 1;
  HostNoise noise;
  std::vector<MapPart> parts{kMapParts.begin(), kMapParts.end()};
};

LatencyMap map_of_model(const MapRigSettings& settings);

// 7200 rpm, 0.6 / 8.5 / 16 ms, 180 to 90 MB/s in 16 zones, NCQ 32.
// `speedup` divides every time.
ModelSpec test_disk(double speedup = 1);
// 80 us, 8 channels, 520 MB/s.
ModelSpec test_flash();

}  // namespace blksweep
