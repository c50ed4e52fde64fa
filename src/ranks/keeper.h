// Keeper: the process that mpirun or srun starts; the rank is its child, and MPI runs only there.
//
// Why:       what was read must be told whatever ends a rank, also SIGKILL, or MPI's own abort,
//            which ends processes without a word. The keeper has no MPI, no data and no threads;
//            the rank's row lies in memory that both share.
// Faults:    a keeper whose rank ends before it is done tells rank 0's (ranks/hub.h), which has all
//            others end theirs, stores what every rank had read as the result, and says who it was.
//            Where rank 0's keeper is gone each of the others tells its own row.
// Exit:      that of the rank; of a rank that was lost, or whose hub is gone: failed; of one that
//            was ended because of another: incomplete; told to end by a signal: interrupted.
// Ends:      the rank is killed with its keeper (PR_SET_PDEATHSIG).
// Threads:   forks: call it before any thread is started.
#pragma once

#include <functional>

#include "ranks/board.h"
#include "ranks/hub.h"
#include "ranks/keep.h"

namespace blksweep {

struct KeeperSettings {
  HubSettings hub;
  bool json = false;
  RanksDatabase database = {};
};

// What the child does: `hub` is where this process's keeper would listen, were the rank 0.
using RankBody = std::function<Exit(Board& board, const HubPlace& hub)>;

Result<Exit> keep_rank(const KeeperSettings& settings, const RankBody& body);

}  // namespace blksweep
