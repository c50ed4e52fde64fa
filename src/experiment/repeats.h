// Repeats: whether another round is wanted. A number of them, or as many as intervals need
// (`--repeats auto`: stats/precision.h).
//
// Rounds:  of a number, those that some cell has not finished. By precision, rounds that are stored
//          already count, whatever asked for them, and the next one begins after the last of them:
//          what is left of a round that was cut off has no pairs, and is not made up for.
// Looking: only widths decide about another round. What RoundEvent says of differences may be
//          looked at after every round (stats/anytime.h).
// Threads: one owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stats/anytime.h"
#include "stats/precision.h"
#include "store/summary/pairs.h"

namespace blksweep {

struct RoundEvent {
  StoppingRecord stopping = {};
  std::size_t rounds_expected = 0;                           // in all
  std::vector<std::pair<std::string, Finding>> so_far = {};  // of each cell but the baseline
};

class Repeats {
 public:
  // `finished`: repeats of each cell that are stored; `stored`: its cells, and with a rule the
  // runs.
  Repeats(std::uint32_t number, std::optional<PrecisionRule> rule,
          std::vector<std::vector<std::uint32_t>> finished, SummaryInput stored);

  bool by_precision() const { return rule_.has_value(); }
  bool finished(std::size_t cell, std::uint32_t repeat) const;
  bool nothing_left(std::size_t cell) const;  // before the first round
  // Whether round `round` is to be drawn; of a number, until all are. REQUIRES: end_round() after
  // every round before it.
  bool another(std::uint32_t round, Nanos elapsed);
  void add(std::size_t cell, const RunRecord& run);
  void end_round();

  std::size_t stored_runs() const { return stored_runs_; }  // that need not be made again
  std::size_t runs_expected() const;                        // in this session, made ones included
  RoundEvent event() const;
  void stop_because(const std::string& reason) { reason_ = reason; }

 private:
  void judge();

  std::uint32_t number_;
  std::optional<PrecisionRule> rule_;
  std::vector<std::vector<std::uint32_t>> finished_;
  SummaryInput runs_;
  std::size_t stored_runs_ = 0;
  std::uint32_t first_ = 0, rounds_ = 0;  // first of this session; that count
  std::vector<Series> series_;
  PrecisionState state_;
  std::optional<std::string> reason_;
};

}  // namespace blksweep
