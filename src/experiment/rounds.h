// RoundDraw: the jobs of one round after another, in the order that the session draws.
//
// Order:   all cells once, in an order drawn anew for each round from the seed and the begin of the
//          session: with that alone drift falls on either side of a pair with equal chance, and one
//          fixed order would have the same drift favour the same cells each time that somebody
//          repeats the experiment. How many rounds there will be changes no round.
// Ceiling: in each round that has a run, at a place of its own among them: what it is measured
//          against is then measured under the same drift.
// Threads: one owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/rng.h"

namespace blksweep {

struct RoundJob {
  std::size_t cell;
  std::uint32_t repeat;
  bool ceiling = false;  // not a run: the ceiling of this round
};

class RoundDraw {
 public:
  RoundDraw(std::size_t cells, std::uint64_t seed, std::int64_t session_started_unix_ns,
            bool ceilings);

  // Of the next round, from 0 on; empty when no job of it is `wanted`.
  std::vector<RoundJob> next(const std::function<bool(const RoundJob&)>& wanted);

 private:
  std::size_t cells_;
  std::uint32_t round_ = 0;
  Rng order_;
  std::optional<Rng> ceiling_;  // none: they are not measured
};

}  // namespace blksweep
