// The smallest window that shuffles well enough, found on planned emissions without any I/O.
//
// Measure: the label mix of the first epoch (stats/shuffle_quality.h), mean over seeds in a row, as
//          repeats of a run have them.
// Ladder:  100 % of the data, then 91, 82, 75 ... 1.1, 1, 0.91 ... 0.1 %: 24 windows a decade, each
//          about 10 % smaller than the one before.
// Rule:    the smallest window of the ladder from which on every larger one has a mean of at least
//          the target. It is looked for from the top, window by window: the measure is noisy, and
//          need not grow with the window, so nothing between two windows is taken for granted, and
//          one that reaches the target by luck below one that does not is not the answer.
// Errors:  usage: a cell without a window; data without labels. Otherwise as plan_epoch.
// Threads: pure but for what planning asks of the clock and of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/result.h"
#include "experiment/cell.h"
#include "loader/source.h"
#include "stats/signed_rank.h"

namespace blksweep {

struct WindowQuestion {
  double label_mix = 0.95;
  std::uint64_t seed = 1;
  std::uint32_t seeds = 5;
};

struct WindowStep {
  RelativeSize window;
  Bytes bytes{0};                    // what the window came to
  double mean = 0, least = 0;        // label mix over seeds
  std::optional<Interval> interval;  // 95 % of the mean, Student's t; nullopt: one seed
};

struct WindowAnswer {
  std::optional<WindowStep> smallest;  // nullopt: not even the whole data set reaches it
  std::vector<WindowStep> tried;       // from the largest down to the first that does not
  bool holds_no_less = false;          // a smaller one of the ladder cannot hold what it must
};

// Percent, largest first.
std::vector<double> window_ladder();

// How many of `count`, from the first on, hold without one that does not before them.
Result<std::size_t> hold_from_top(std::size_t count,
                                  const std::function<Result<bool>(std::size_t)>& holds);

Result<WindowAnswer> smallest_window(const Source& source, const CellSettings& cell,
                                     const WindowQuestion& question);

}  // namespace blksweep
