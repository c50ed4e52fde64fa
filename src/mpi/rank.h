// What each rank does, from MPI's start to its end; rank 0 prints the one result.
//
// Errors:    Exit as documented; a line on stderr that names the rank, of rank 0.
// Threads:   the main thread of a process of its own (ranks/keeper.h).
#pragma once

#include "mpi/comm.h"
#include "mpi/options.h"
#include "ranks/board.h"

namespace blksweep {

Exit run_rank(const MpiOptions& options, const Comm& comm, Board& board, const HubPlace& hub);

}  // namespace blksweep
