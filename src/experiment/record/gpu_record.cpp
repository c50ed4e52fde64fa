#include "experiment/record/gpu_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiment/proof/incomplete.h"
#include "os/block/numa.h"
#include "stage/cuda/nvml.h"

namespace blksweep {
namespace {

Maybe<std::int64_t> as_number(const std::optional<unsigned>& node) {
  return node ? Maybe<std::int64_t>(*node) : std::nullopt;
}

constexpr double kTold = 0.01;  // of a batch, or of the kernels' time: what is less is not told

// Of two the one that is more certain.
bool more_certain(const ClockAlignment& a, const DeviceClockRecord& than) {
  return a.drift && (!than.drift || *a.drift_error < *than.drift_error);
}

// Waits and stalls lie between a time of the host's and one of the GPU's.
void warn_of_alignment(RunRecord& r) {
  if (!r.device_clock || r.batches.empty()) {
    return;
  }
  const auto error = static_cast<double>(r.device_clock->error_ns);
  const double batch = static_cast<double>(r.epoch_ns) / static_cast<double>(r.batches.size());
  if (error > kTold * batch) {
    r.warnings.push_back(fmt::format(
        "the GPU's clock is known to within {:.3f} ms, a batch takes {:.3f} ms: waits and stalls "
        "between host and GPU may be wrong by that much each; times of the GPU alone are not",
        error / 1e6, batch / 1e6));
  }
}

void warn_of_kernels(RunRecord& r) {
  if (!r.device_clock || !r.overlap || r.overlap->asked_ns.value_or(0) == 0) {
    return;
  }
  const double ratio = static_cast<double>(r.overlap->kernel_ns.value_or(0)) /
                       static_cast<double>(*r.overlap->asked_ns);
  if (std::abs(ratio - 1) > kTold) {
    r.warnings.push_back(
        fmt::format("the kernels took {:.3f} of the time that they were to take: copies or "
                    "other programs contend with them, or did while they were calibrated",
                    ratio));
  }
}

}  // namespace

AcceleratorRecord accelerator_record(const GpuPlace& place, const std::string& disk) {
  return {.name = place.name,
          .uuid = place.uuid,
          .pci = place.pci,
          .numa_node = as_number(numa_node_of_pci(place.pci)),
          .disk_numa_node = disk.empty() ? std::nullopt : as_number(numa_node_of(disk)),
          .link_generation = place.link_generation,
          .link_generation_most = place.link_generation_most,
          .link_width = place.link_width,
          .link_width_most = place.link_width_most};
}

std::string throttle_warning(const std::vector<GpuPoint>& samples) {
  std::uint64_t all = 0;
  std::size_t slowed = 0;
  for (const GpuPoint& s : samples) {
    const std::uint64_t reasons = s.throttle_reasons.value_or(0);
    slowed += throttle_words(reasons).empty() ? 0 : 1;
    all |= reasons;
  }
  return slowed == 0 ? ""
                     : fmt::format("the GPU's clocks were held down in {} of {} samples: {}",
                                   slowed, samples.size(), throttle_words(all));
}

void record_clock(RunRecord& r, const std::optional<ClockAlignment>& a) {
  if (!a) {
    return;
  }
  DeviceClockRecord seen = r.device_clock.value_or(DeviceClockRecord{});
  seen.offset_ns = r.device_clock ? seen.offset_ns : a->offset_ns;
  if (more_certain(*a, seen)) {
    seen.drift = a->drift;
    seen.drift_error = a->drift_error;
  }
  seen.error_ns = std::max(seen.error_ns, a->error_ns);
  seen.clamped_ns = std::max(seen.clamped_ns, a->clamped_ns);
  seen.anchors = std::max<std::uint64_t>(seen.anchors, a->anchors);
  seen.cost_ns = std::max(seen.cost_ns, a->cost_ns);
  r.device_clock = seen;
}

void judge_gpu_times(RunRecord& r) {
  if (r.device_clock && r.device_clock->clamped_ns > r.device_clock->error_ns) {
    mark_incomplete(r, fmt::format("times of the GPU were off by {} ns, stated were {} ns",
                                   r.device_clock->clamped_ns, r.device_clock->error_ns));
  }
  warn_of_alignment(r);
  warn_of_kernels(r);
}

}  // namespace blksweep
