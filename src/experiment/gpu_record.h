// What a run's record says of the GPU that it used.
//
// Threads: pure functions but for accelerator_record(), which asks sysfs.
#pragma once

#include <string>
#include <vector>

#include "stage/cuda/gpu_sampler.h"
#include "store/records.h"

namespace blksweep {

// Beside the GPU's NUMA node that of the disk ("nvme0n1") with the data; "": there is none.
AcceleratorRecord accelerator_record(const GpuPlace& place, const std::string& disk);

// A warning, when something slowed its clocks while the epoch ran: what, and in which share of the
// samples. "": nothing did, or nobody tells.
std::string throttle_warning(const std::vector<GpuPoint>& samples);

}  // namespace blksweep
