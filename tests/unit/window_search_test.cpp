// The smallest window that is found is the one that a scan of all of them finds.
#include "experiment/window_search.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "experiment/emission_file.h"
#include "experiment/record/quality.h"
#include "loader/planned_epoch.h"
#include "support/sanitizers.h"
#include "support/synthetic_catalog.h"

namespace blksweep {
namespace {

using support::SyntheticCatalog;

// By the rule's words, and not by its code: the smallest from which on every larger one holds.
std::size_t scanned(const std::vector<double>& means, double target) {
  std::size_t best = 0;
  for (std::size_t i = 0; i < means.size(); ++i) {
    bool all = true;
    for (std::size_t larger = 0; larger <= i; ++larger) {
      all = all && means[larger] >= target;
    }
    best = all ? i + 1 : best;
  }
  return best;
}

TEST(WindowSearch, AgreesWithAScanWhateverTheMeasureDoes) {
  Rng rng(5);
  for (int round = 0; round < 2000; ++round) {
    std::vector<double> means(1 + rng.below(40));
    for (std::size_t i = 0; i < means.size(); ++i) {  // falling, noisy, sometimes with a hole
      means[i] = 1 - static_cast<double>(i) / 40 + static_cast<double>(rng.below(200)) / 1000 - 0.1;
    }
    const double target = static_cast<double>(rng.below(1000)) / 1000;
    const auto found = hold_from_top(
        means.size(), [&](std::size_t i) -> Result<bool> { return means[i] >= target; });
    ASSERT_TRUE(found);
    EXPECT_EQ(*found, scanned(means, target));
  }
}

TEST(WindowSearch, LadderFallsInStepsOfATenth) {
  const std::vector<double> ladder = window_ladder();
  EXPECT_EQ(ladder.front(), 100);
  EXPECT_DOUBLE_EQ(ladder.back(), 0.1);
  for (std::size_t i = 1; i < ladder.size(); ++i) {
    EXPECT_LT(ladder[i], ladder[i - 1]);
    EXPECT_GT(ladder[i], 0.86 * ladder[i - 1]) << ladder[i];
  }
}

// The numbers of the standard (IEC 60063); with a wrong one it would still fall in such steps.
TEST(WindowSearch, LadderIsThreeDecadesOfE24) {
  std::vector<double> wanted{100};
  for (const int decade : {1, 10, 100}) {
    for (const int step : {91, 82, 75, 68, 62, 56, 51, 47, 43, 39, 36, 33,
                           30, 27, 24, 22, 20, 18, 16, 15, 13, 12, 11, 10}) {
      wanted.push_back(static_cast<double>(step) / decade);
    }
  }
  EXPECT_EQ(window_ladder(), wanted);
}

struct Rig {
  SyntheticCatalog files{{.files = 3000, .labels = 12, .seed = 3}};
  Source source;
  CellSettings cell;
  Rig() {
    source.catalog = files.view();
    source.direct_align = kSectorBytes;
    cell.order = Order::path;
    cell.shuffle = Shuffle::buffer;
    cell.batch = 60;
  }
  // As `plan` says it of one window, averaged by hand; nullopt: it holds too little.
  std::optional<double> mean_of(double percent, const WindowQuestion& q) {
    cell.window = {{}, percent};
    double sum = 0;
    for (std::uint64_t s = q.seed; s < q.seed + q.seeds; ++s) {
      const auto planned = plan_epoch(source, cell, s);
      if (!planned) {
        return std::nullopt;
      }
      sum += *quality_of(source.catalog, cell.order, *planned, planned_emission(*planned).samples)
                  .label_mix;
    }
    return sum / q.seeds;
  }
};

TEST(WindowSearch, AgreesWithAScanOfPlans) {
  // A scan under a sanitizer takes 20 s.
  const std::vector<double> targets =
      support::sanitized() ? std::vector<double>{0.9} : std::vector<double>{0.5, 0.9, 0.97};
  for (const Shuffle shuffle : {Shuffle::buffer, Shuffle::reservoir}) {
    for (const double target : targets) {
      Rig rig;
      rig.cell.shuffle = shuffle;
      const WindowQuestion question{.label_mix = target, .seed = 11, .seeds = 3};
      const auto answer = smallest_window(rig.source, rig.cell, question);
      ASSERT_TRUE(answer) << answer.error().message();
      const std::vector<double> ladder = window_ladder();
      std::vector<double> means;
      for (const double percent : ladder) {
        if (const auto mean = rig.mean_of(percent, question)) {
          means.push_back(*mean);
        }
      }
      const std::size_t held = scanned(means, target);
      ASSERT_EQ(answer->smallest.has_value(), held > 0);
      if (held > 0) {
        EXPECT_EQ(answer->smallest->window.percent, ladder[held - 1]);
        EXPECT_DOUBLE_EQ(answer->smallest->mean, means[held - 1]);
        EXPECT_LE(answer->smallest->interval->low, answer->smallest->mean);
        EXPECT_LE(answer->smallest->least, answer->smallest->mean);
      }
    }
  }
}

// Of two values half their difference is the error of their mean; Student's t of one degree of
// freedom leaves 5 % beyond 12.7062.
TEST(WindowSearch, OfTwoSeedsTheIntervalIsStudentsWithinAllThatCanBe) {
  Rig rig;
  const auto answer = smallest_window(rig.source, rig.cell, {.label_mix = 0.9, .seeds = 2});
  ASSERT_TRUE(answer) << answer.error().message();
  ASSERT_FALSE(answer->tried.empty());
  for (const WindowStep& step : answer->tried) {
    const double half = 12.7062 * (step.mean - step.least);
    ASSERT_TRUE(step.interval);
    EXPECT_NEAR(step.interval->low, std::max(0.0, step.mean - half), 1e-5);
    EXPECT_NEAR(step.interval->high, std::min(1.0, step.mean + half), 1e-5);
  }
}

TEST(WindowSearch, RefusesWhatHasNoWindowOrNoLabels) {
  Rig rig;
  rig.cell.shuffle = Shuffle::none;
  EXPECT_EQ(smallest_window(rig.source, rig.cell, {}).error().exit_code, Exit::usage);
  const SyntheticCatalog one{{.files = 300, .labels = 1}};
  rig.cell.shuffle = Shuffle::buffer;
  rig.source.catalog = one.view();
  EXPECT_EQ(smallest_window(rig.source, rig.cell, {}).error().exit_code, Exit::usage);
}

}  // namespace
}  // namespace blksweep
