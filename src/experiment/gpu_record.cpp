#include "experiment/gpu_record.h"

#include <fmt/format.h>

#include "os/numa.h"
#include "stage/cuda/nvml.h"

namespace blksweep {
namespace {

Maybe<std::int64_t> as_number(const std::optional<unsigned>& node) {
  return node ? Maybe<std::int64_t>(*node) : std::nullopt;
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

}  // namespace blksweep
