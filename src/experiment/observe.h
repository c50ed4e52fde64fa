// What is watched from outside while an epoch runs: block statistics, the probe and the GPU.
//
// Errors:  what cannot be observed stays unknown in the record, with a warning that says why.
// Threads: one owner; start() and stop() around the epoch.
#pragma once

#include <optional>
#include <span>

#include "base/units.h"
#include "loader/epoch.h"
#include "os/blockdev.h"
#include "probe/block_probe.h"
#include "stage/cuda/gpu_sampler.h"
#include "store/records.h"

namespace blksweep {

class Observation {
 public:
  // `reads_itself`: nobody else reads for this process, so that its own count is true.
  // `gpu`: the index of the GPU that the run uses; nullopt: none.
  Observation(const std::optional<BlockDevice>& device, bool reads_itself, BlockProbe* probe,
              std::optional<std::uint32_t> gpu)
      : device_(device), reads_itself_(reads_itself), probe_(probe), gpu_(gpu) {}
  void start();
  // Fills device_bytes, device_reads, own_read_bytes, others_read_bytes, probe, gpu and warnings.
  void stop(RunRecord& record);

 private:
  void stop_sampler(RunRecord& record);
  void count_bytes(RunRecord& record) const;
  void count_disk(RunRecord& record) const;
  const std::optional<BlockDevice>& device_;
  bool reads_itself_;
  BlockProbe* probe_;
  std::optional<std::uint32_t> gpu_;
  std::unique_ptr<GpuSampler> sampler_;
  std::optional<Error> not_sampled_;
  std::optional<DiskStat> before_;
  std::string not_counted_;  // why there is none
  std::optional<std::uint64_t> own_before_;
  std::optional<Error> refused_;
};

// The kernel does not always tell the probe that a request ended (docs/probe.md). Above 1 % of
// them, depth and latency are not those of the disk: the run has none, and says why. Requests,
// bytes and merges are of what was issued, and stay; so do the run's own times.
void withhold_unsure_depth(RunRecord& run);

// Shuffle quality of the first epoch of what was really emitted (docs/measurement.md).
QualityRecord quality_of(const Catalog& catalog, Order order, const PlannedEpoch& planned,
                         std::span<const std::uint32_t> emitted);

}  // namespace blksweep
