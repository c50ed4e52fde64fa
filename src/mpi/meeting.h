// Meeting: before MPI starts, which waits for all ranks without an end, each keeper hears where
// rank 0's is, so that one that does not come is known by name.
//
// How:       rank 0 puts its keeper's place into PMIx, with which mpirun started it, and each rank
//            asks there for rank 0's. Nothing else is waited for.
// Without:   under srun, without PMIx, or where rank 0 does not answer, keepers hear it once MPI
//            runs.
// Errors:    none: it is tried.
// Ownership: PMIx runs from the constructor to the destructor, around MPI.
// Threads:   one owner.
#pragma once

#include "mpi/options.h"
#include "ranks/board.h"

namespace blksweep {

class Meeting {
 public:
  // `hub`: where this process's keeper would listen, were it rank 0.
  Meeting(const MpiOptions& options, Board& board, const HubPlace& hub);
  ~Meeting();
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

 private:
  bool open_ = false;
};

}  // namespace blksweep
