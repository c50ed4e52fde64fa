// What watches the runs of an experiment from inside the kernel.
//
// Errors:  none: what cannot be had is left out, and each run is told why.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "loader/source.h"
#include "probe/block_probe.h"
#include "probe/cache/cache_probe.h"

namespace blksweep {

struct ProbeWishes {
  bool block = true;
  bool layers = false;  // ProbeSettings::layers, origins
  bool cache = false;
  std::uint32_t requests = 0;  // ProbeSettings::requests
};

struct Probes {
  std::unique_ptr<BlockProbe> block;  // nullptr: not asked for, or refused
  std::unique_ptr<CacheProbe> cache;
  std::vector<std::string> refused;  // what is missing in each run, and why
};

Probes open_probes(const Source& source, const ProbeWishes& wishes);

}  // namespace blksweep
