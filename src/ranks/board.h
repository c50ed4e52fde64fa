// Board: memory that a rank and its keeper share, and that stays when the rank dies.
//
// Rows:      the rank writes a row beside the one that is valid and then makes it valid, so that
//            there is a whole one at any moment, also after SIGKILL.
// Ownership: mapped before the fork; both processes unmap it.
// Errors:    no memory for the mapping.
// Threads:   one writer, one reader, in two processes.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "ranks/row.h"

namespace blksweep {

// Where rank 0's keeper listens, and what it wants to hear first.
struct HubPlace {
  std::array<std::array<char, 46>, 8> addresses{};  // as text, IPv4 and IPv6; unused ones are empty
  std::uint32_t port = 0;
  std::array<std::uint64_t, 2> token{};
};

// Told by a rank once MPI runs.
struct RankPlace {
  std::uint32_t rank = 0, ranks = 1;
  HubPlace hub;
};

class Board {
 public:
  static Result<Board> make();
  Board(Board&& o) noexcept;
  Board& operator=(Board&&) = delete;
  ~Board();

  // The rank's side.
  void place(const RankPlace& place);
  void ask();                           // where rank 0's keeper is, before MPI runs
  void facts(const std::string& json);  // of the experiment, for the result; what is longer is cut
  void publish(const RankRow& row);
  void leave();  // all is said: only MPI's own end is left to be waited for

  // The keeper's side.
  bool placed() const;
  bool asked() const;
  bool left() const;
  RankPlace place() const;  // REQUIRES: placed()
  std::string facts() const;
  RankRow row() const;

 private:
  struct Shared;
  explicit Board(Shared* shared) : shared_(shared) {}
  Shared* shared_;
};

}  // namespace blksweep
