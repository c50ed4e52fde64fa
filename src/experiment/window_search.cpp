#include "experiment/window_search.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "experiment/emission_file.h"
#include "experiment/record/quality.h"
#include "stats/paired.h"
#include "stats/student_t.h"

namespace blksweep {
namespace {

// IEC 60063, E24.
constexpr std::array<int, 24> kSteps{91, 82, 75, 68, 62, 56, 51, 47, 43, 39, 36, 33,
                                     30, 27, 24, 22, 20, 18, 16, 15, 13, 12, 11, 10};

Result<double> label_mix_of(const Source& source, const CellSettings& cell, std::uint64_t seed,
                            Bytes& window) {
  BLKSWEEP_TRY(const PlannedEpoch planned, plan_epoch(source, cell, seed));
  window = planned.window;
  const QualityRecord quality =
      quality_of(source.catalog, cell.order, planned, planned_emission(planned).samples);
  if (!quality.label_mix) {
    return usage_error("--label-mix: the samples have one label, or none: there is nothing to mix");
  }
  return *quality.label_mix;
}

std::optional<Interval> interval_of(const std::vector<double>& values, double mean) {
  if (values.size() < 2) {
    return std::nullopt;
  }
  double squares = 0;
  for (const double v : values) {
    squares += (v - mean) * (v - mean);
  }
  const auto n = static_cast<double>(values.size());
  const double half = t_quantile(kErrorRate, n - 1) * std::sqrt(squares / (n - 1) / n);
  return Interval{std::max(0.0, mean - half), std::min(1.0, mean + half)};
}

Result<WindowStep> measure_step(const Source& source, CellSettings cell, double percent,
                                const WindowQuestion& question) {
  WindowStep step{.window = {{}, percent}, .interval = std::nullopt};
  cell.window = step.window;
  cell.epochs = 1;  // it is the measure's, and others change nothing of it
  std::vector<double> values;
  for (std::uint32_t s = 0; s < question.seeds; ++s) {
    BLKSWEEP_TRY(values.emplace_back(), label_mix_of(source, cell, question.seed + s, step.bytes));
    step.mean += values.back() / question.seeds;
  }
  step.least = *std::ranges::min_element(values);
  step.interval = interval_of(values, step.mean);
  return step;
}

bool has_window(const CellSettings& cell) {
  return cell.shuffle == Shuffle::buffer || cell.shuffle == Shuffle::reservoir;
}

}  // namespace

std::vector<double> window_ladder() {
  std::vector<double> ladder{100};
  for (const double decade : {1.0, 10.0, 100.0}) {
    for (const int step : kSteps) {
      ladder.push_back(step / decade);
    }
  }
  return ladder;
}

Result<std::size_t> hold_from_top(std::size_t count,
                                  const std::function<Result<bool>(std::size_t)>& holds) {
  for (std::size_t i = 0; i < count; ++i) {
    BLKSWEEP_TRY(const bool held, holds(i));
    if (!held) {
      return i;
    }
  }
  return count;
}

Result<WindowAnswer> smallest_window(const Source& source, const CellSettings& cell,
                                     const WindowQuestion& question) {
  if (!has_window(cell)) {
    return usage_error("--label-mix: of a window: --shuffle buffer or reservoir");
  }
  const Source part = part_of(source, cell.read_share);
  const std::vector<double> ladder = window_ladder();
  WindowAnswer answer;
  const auto holds = [&](std::size_t i) -> Result<bool> {
    auto step = measure_step(part, cell, ladder[i], question);
    if (!step && i > 0 && step.error().exit_code == Exit::usage) {
      answer.holds_no_less = true;
      return false;
    }
    BLKSWEEP_TRY(answer.tried.emplace_back(), std::move(step));
    return answer.tried.back().mean >= question.label_mix;
  };
  BLKSWEEP_TRY(const std::size_t held, hold_from_top(ladder.size(), holds));
  if (held > 0) {
    answer.smallest = answer.tried[held - 1];
  }
  return answer;
}

}  // namespace blksweep
