// RankReader: one rank's part of the epochs, batch by batch, with what its row says of it.
//
// Barriers:  all ranks take as many turns, so that one with fewer batches, or one that cannot go
//            on, still meets the others.
// Times:     by rank 0's clock, from the common start on.
// Threads:   those of Comm.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "loader/loader.h"
#include "mpi/comm.h"
#include "mpi/options.h"
#include "mpi/rank_conditions.h"
#include "ranks/board.h"

namespace blksweep {

struct RankClock {
  std::int64_t offset = 0;  // to rank 0's
  std::int64_t start = 0;   // of all, by rank 0's
  std::int64_t now() const;
};

class RankReader {
 public:
  RankReader(const Comm& comm, const MpiOptions& options, const Source& source, Loader& loader,
             Board& board, RankRow& row);
  // From the start on that the clock says. What was delivered is not proven by an error of the
  // loader's, which is kept.
  void run(const RankClock& clock);

  const std::string& error() const { return error_; }
  // That a CPU quota held this rank; empty: none did.
  const std::string& quota() const { return quota_; }
  // What the disk did meanwhile (RankConditions::disk_use).
  const std::string& disk_use() const { return disk_use_; }
  // place << 32 | sample, in order of delivery.
  const std::vector<std::uint64_t>& delivered() const { return delivered_; }
  // XXH3-64 of each, with --verify.
  const std::vector<std::uint64_t>& hashes() const { return hashes_; }

 private:
  void wait_for_start();
  void look_for_quota(const std::optional<std::int64_t>& before);
  bool take_batch();
  void take(const LoadedBatch& batch);

  const Comm& comm_;
  const MpiOptions& options_;
  Loader& loader_;
  Board& board_;
  RankRow& row_;
  RankConditions conditions_;  // since it was made
  RankClock clock_;
  std::string error_, quota_, disk_use_;
  std::vector<std::uint64_t> delivered_, hashes_;
};

}  // namespace blksweep
