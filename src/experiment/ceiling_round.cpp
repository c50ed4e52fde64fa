#include "experiment/ceiling_round.h"

#include <algorithm>

#include "os/block/layer_facts.h"

namespace blksweep {

Ceiling ceiling_of_round(const Source& source, const CeilingRound& round) {
  const BlockDevice& device = *source.device;
  const DataMap data(source.catalog, std::max(kPageBytes, device.logical_block), device.size);
  CeilingSettings settings;
  settings.device_node = device.node;
  settings.disk = device.disk;
  settings.seed = round.seed;
  settings.round = round.round;
  settings.interrupt = round.interrupt;
  if (round.cold) {
    settings.cached_files = cached_backing_files(device.disk);
  }
  return measure_ceiling(data, settings);
}

}  // namespace blksweep
