// What a run's record says of the GPU that it used.
//
// Threads: pure functions but for accelerator_record(), which asks sysfs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stage/clock_alignment.h"
#include "stage/cuda/gpu_sampler.h"
#include "store/records.h"

namespace blksweep {

// Beside the GPU's NUMA node that of the disk ("nvme0n1") with the data; "": there is none.
AcceleratorRecord accelerator_record(const GpuPlace& place, const std::string& disk);

// A warning, when something slowed its clocks while the epoch ran: what, and in which share of the
// samples. "": nothing did, or nobody tells.
std::string throttle_warning(const std::vector<GpuPoint>& samples);

// A stage says what it knows of the accelerator's clock; where both do, the greater error counts,
// and of two drifts the more certain one.
void record_clock(RunRecord& r, const std::optional<ClockAlignment>& a);

// What may make a figure of the GPU's times another one than it seems. A time that lies outside of
// what the host saw itself by more than is stated makes the run incomplete. Warnings: where GPU and
// host may be apart by more than 1 % of a batch's share of the epoch, and where the kernels took
// more than 1 % longer or shorter than they were to. REQUIRES: the account is kept.
void judge_gpu_times(RunRecord& r);

}  // namespace blksweep
