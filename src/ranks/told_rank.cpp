#include "ranks/told_rank.h"

#include <cstdlib>

#include "base/units.h"

namespace blksweep {

std::optional<std::uint32_t> told_rank() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    if (const char* text = std::getenv(name)) {
      const Result<std::uint64_t> rank = parse_count(text);
      return rank ? std::optional(static_cast<std::uint32_t>(*rank)) : std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace blksweep
