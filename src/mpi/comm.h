// Comm: what the ranks say to each other, over MPI; the only place that knows MPI.
//
// Waiting:   every call is a collective one, and sleeps while it waits, in steps of 20 to 200 us:
//            MPI's own waiting keeps a CPU busy, which on a full node is one that reads.
// Errors:    none come back: MPI ends the process, and its keeper (ranks/keeper.h) sees to the
//            rest.
// Ownership: MPI runs from start() to the destructor; one at a time.
// Threads:   the one that made it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/result.h"
#include "ranks/row.h"

namespace blksweep {

struct ClockOffset {
  std::int64_t ns = 0;     // to be added to this rank's clock for rank 0's
  std::int64_t error = 0;  // at most: half of the shortest way there and back
};

class Comm {
 public:
  Comm(int argc, char** argv);
  ~Comm();
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;

  std::uint32_t rank() const { return rank_; }
  std::uint32_t ranks() const { return ranks_; }
  bool first() const { return rank_ == 0; }
  // Node, host and number on the node of this rank.
  void describe(RankRow& row) const;

  // Rank 0's, for all.
  template <class T>
  void broadcast(T& value) const {
    static_assert(std::is_trivially_copyable_v<T>);
    broadcast_bytes(std::as_writable_bytes(std::span(&value, 1)));
  }
  void broadcast(std::string& bytes) const;
  std::uint32_t most(std::uint32_t value) const;
  // How long it took.
  std::int64_t wait_for_all() const;
  // At rank 0: what each has, by rank; elsewhere nothing.
  std::vector<std::vector<std::uint64_t>> gather(std::span<const std::uint64_t> mine) const;
  std::vector<std::string> gather_texts(const std::string& mine) const;
  std::vector<RankRow> gather_rows(const RankRow& mine) const;
  // By messages to rank 0 and back, CLOCK_MONOTONIC.
  ClockOffset measure_clock() const;
  // The same for all: an error of any rank, the lowest, with its name.
  Result<> agree(const Result<>& mine) const;

 private:
  void broadcast_bytes(std::span<std::byte> bytes) const;

  std::uint32_t rank_ = 0, ranks_ = 1;
  std::uint32_t node_ = 0, on_node_ = 0;
  std::string host_;
};

}  // namespace blksweep
