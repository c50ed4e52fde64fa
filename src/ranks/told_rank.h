// Which rank this process is, as mpirun (Open MPI, PMIx) or Slurm tell it before MPI runs.
#pragma once

#include <cstdint>
#include <optional>

namespace blksweep {

std::optional<std::uint32_t> told_rank();  // nothing: nobody said

}  // namespace blksweep
