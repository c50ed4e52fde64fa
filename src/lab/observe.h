// What is watched from outside while an epoch runs: block statistics and the probe.
//
// Errors:  what cannot be observed stays unknown in the record, with a warning that says why.
// Threads: one owner; start() and stop() around the epoch.
#pragma once

#include <optional>
#include <span>

#include "base/units.h"
#include "lab/epoch.h"
#include "os/blockdev.h"
#include "probe/block_probe.h"
#include "store/records.h"

namespace blksweep {

class Observation {
 public:
  Observation(const std::optional<BlockDevice>& device, BlockProbe* probe)
      : device_(device), probe_(probe) {}
  void start();
  // Fills device_bytes, device_reads, probe and warnings.
  void stop(RunRecord& record);

 private:
  const std::optional<BlockDevice>& device_;
  BlockProbe* probe_;
  std::optional<DiskStat> before_;
  std::optional<Error> refused_;
};

// Shuffle quality of the first epoch of what was really emitted (docs/measurement.md).
QualityRecord quality_of(const Catalog& catalog, Order order, const PlannedCell& planned,
                         std::span<const std::uint32_t> emitted);

}  // namespace blksweep
