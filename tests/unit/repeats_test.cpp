// Whether another round is wanted, and in which order its cells run.
#include "experiment/repeats.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <thread>

#include "experiment/experiment.h"
#include "experiment/rounds.h"
#include "store/result_reader.h"
#include "store/summary/stopping.h"
#include "support/temp_dir.h"

namespace blksweep {
namespace {

// --- the order of cells ------------------------------------------------------------------------

using Place = std::pair<std::size_t, std::uint32_t>;
std::vector<Place> places(const std::vector<RoundJob>& jobs) {
  std::vector<Place> out;
  std::ranges::transform(jobs, std::back_inserter(out), [](const RoundJob& j) {
    return Place{j.ceiling ? 99 : j.cell, j.repeat};
  });
  return out;
}

// All jobs of all rounds at once, then those that are done taken out, then the ceilings put in: the
// order that databases were made with before rounds were drawn one by one.
std::vector<Place> drawn_at_once(std::size_t cells, std::uint32_t repeats, std::uint64_t seed,
                                 std::uint64_t started, const std::vector<Place>& done) {
  Rng order(seed, 0x17 + started), ceilings(seed, 0xCE13);
  std::vector<Place> jobs;
  for (std::uint32_t r = 0; r < repeats; ++r) {
    const std::size_t first = jobs.size();
    for (std::size_t c = 0; c < cells; ++c) {
      jobs.emplace_back(c, r);
    }
    shuffle(std::span(jobs).subspan(first), order);
  }
  std::erase_if(jobs, [&](const Place& p) { return std::ranges::find(done, p) != done.end(); });
  std::vector<Place> out;
  for (std::size_t i = 0; i < jobs.size();) {
    const std::uint32_t repeat = jobs[i].second;
    const std::size_t first = out.size();
    for (; i < jobs.size() && jobs[i].second == repeat; ++i) {
      out.push_back(jobs[i]);
    }
    const std::uint64_t place = first + ceilings.below(out.size() - first + 1);
    out.insert(out.begin() + static_cast<std::ptrdiff_t>(place), {99, repeat});
  }
  return out;
}

TEST(RoundDraw, IsWhatAllRoundsDrawnAtOnceWere) {
  const std::vector<Place> done{{0, 0}, {1, 0}, {2, 0}, {3, 0}, {1, 2}, {0, 3}, {3, 3}};
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    RoundDraw draw(4, seed, 1'700'000'000 + static_cast<std::int64_t>(seed), true);
    std::vector<Place> all;
    for (int r = 0; r < 9; ++r) {
      const auto jobs = places(draw.next([&](const RoundJob& j) {
        return std::ranges::find(done, Place{j.cell, j.repeat}) == done.end();
      }));
      all.insert(all.end(), jobs.begin(), jobs.end());
    }
    EXPECT_EQ(all, drawn_at_once(4, 9, seed, 1'700'000'000 + seed, done));
  }
}

// --- rounds by precision, on made-up runs ------------------------------------------------------

class RoundsByPrecision : public ::testing::Test {
 protected:
  static SummaryInput cells(std::size_t n) {
    SummaryInput out;
    for (std::size_t c = 0; c < n; ++c) {
      out.cells.push_back(
          {static_cast<std::int64_t>(c + 1), {{{"order", "o" + std::to_string(c)}}}});
    }
    return out;
  }
  RunRecord made_up(std::uint32_t repeat, double noise) {
    RunRecord r;
    r.session_id = 1;
    r.repeat = repeat;
    r.samples = 1000;
    r.epoch_ns = std::llround(1e9 * std::exp(noise * rng_.normal()));
    return r;
  }
  // Rounds until none is wanted.
  std::uint32_t play(Repeats& repeats, std::size_t cells, double noise,
                     Nanos per_round = Nanos{0}) {
    std::uint32_t r = 0;
    for (Nanos elapsed{0}; repeats.another(r, elapsed); ++r) {
      for (std::size_t c = 0; c < cells; ++c) {
        repeats.add(c, made_up(r, noise));
      }
      repeats.end_round();
      elapsed += per_round;
    }
    return r;
  }
  static Repeats fresh(std::size_t n, const PrecisionRule& rule) {
    return {1, rule, std::vector<std::vector<std::uint32_t>>(n), cells(n)};
  }
  Rng rng_{1};
};

TEST_F(RoundsByPrecision, GoOnUntilEveryIntervalIsNarrow) {
  Repeats repeats = fresh(3, {.half_width = 0.05, .most_rounds = 1000});
  const std::uint32_t rounds = play(repeats, 3, 0.1);
  const StoppingRecord s = repeats.event().stopping;
  EXPECT_EQ(s.reason, "precision");
  EXPECT_EQ(s.rounds, rounds);
  EXPECT_GT(rounds, kPilotRounds);
  EXPECT_LE(*s.half_width, 0.05);
  EXPECT_EQ(s.intervals, 2U);
  EXPECT_EQ(s.reached, 2U);
  EXPECT_NE(s.widest.find(" / "), std::string::npos) << s.widest << ": of which ratio";
}

TEST_F(RoundsByPrecision, StopAtTheMost) {
  Repeats repeats = fresh(2, {.half_width = 0.001, .most_rounds = 15});
  EXPECT_EQ(play(repeats, 2, 0.3), 15U);
  EXPECT_EQ(repeats.event().stopping.reason, "repeats-max");
  EXPECT_EQ(repeats.event().stopping.reached, 0U);
}

TEST_F(RoundsByPrecision, StopAtTheTimeLimitButNotBeforeTheFirst) {
  Repeats repeats = fresh(2, {.half_width = 0.001, .time_limit = std::chrono::seconds(10)});
  EXPECT_EQ(play(repeats, 2, 0.3, std::chrono::seconds(4)), 3U);
  EXPECT_EQ(repeats.event().stopping.reason, "time-limit");
  Repeats none = fresh(2, {.half_width = 0.001, .time_limit = Nanos{1}});
  EXPECT_EQ(play(none, 2, 0.3, std::chrono::seconds(4)), 1U);
}

TEST_F(RoundsByPrecision, OfOneCellAloneWatchItsOwnSpeed) {
  Repeats repeats = fresh(1, {.half_width = 0.05, .most_rounds = 1000});
  play(repeats, 1, 0.1);
  EXPECT_EQ(repeats.event().stopping.reason, "precision");
  EXPECT_TRUE(repeats.event().stopping.widest.ends_with("samples/s"));
  EXPECT_TRUE(repeats.event().so_far.empty()) << "nothing is compared";
}

TEST_F(RoundsByPrecision, OfOneCellWithATwinWatchTheirRatio) {
  Repeats repeats = fresh(1, {.half_width = 0.02});
  for (std::uint32_t r = 0; r < kPilotRounds; ++r) {
    RunRecord run = made_up(r, 2.0);  // its own speed is noise
    run.fio.emplace().ratio = 1.3 + 0.001 * r;
    repeats.add(0, run);
    repeats.end_round();
  }
  EXPECT_FALSE(repeats.another(kPilotRounds, Nanos{0}));
  EXPECT_EQ(repeats.event().stopping.reason, "precision");
  EXPECT_TRUE(repeats.event().stopping.widest.ends_with("ours / fio"));
}

TEST_F(RoundsByPrecision, OfATwinTooShortForFiosClockSayThatRoundsDoNotHelp) {
  Repeats repeats = fresh(1, {.half_width = 0.02});
  for (std::uint32_t r = 0; r < kPilotRounds; ++r) {
    RunRecord run = made_up(r, 0.1);
    run.fio.emplace().ratio = 1.3 + 0.001 * r;
    run.fio->runtime_ns = 10'000'000;  // half a step is 5 % of it
    repeats.add(0, run);
    repeats.end_round();
  }
  EXPECT_FALSE(repeats.another(kPilotRounds, Nanos{0}));
  const StoppingRecord stop = repeats.event().stopping;
  EXPECT_EQ(stop.reason, "fio-clock");
  EXPECT_EQ(stop.reached, 0U);
  EXPECT_GT(stop.half_width, 0.05);
  EXPECT_NE(stopping_text({{"", stop}}).find("0 of 1 intervals within 2.0 %"), std::string::npos);
}

TEST_F(RoundsByPrecision, LeaveOutWhatNeverCompletes) {
  Repeats repeats = fresh(3, {.half_width = 0.05, .most_rounds = 1000});
  for (std::uint32_t r = 0; repeats.another(r, Nanos{0}); ++r) {
    for (std::size_t c = 0; c < 3; ++c) {
      RunRecord run = made_up(r, 0.1);
      run.incomplete = c == 2;
      repeats.add(c, run);
    }
    repeats.end_round();
  }
  EXPECT_EQ(repeats.event().stopping.reason, "precision");
  EXPECT_EQ(repeats.event().stopping.intervals, 1U);
}

TEST_F(RoundsByPrecision, CountWhatIsStoredAndBeginAfterIt) {
  SummaryInput stored = cells(2);
  for (std::uint32_t r = 0; r < 30; ++r) {
    for (const std::int64_t cell : {1, 2}) {
      stored.runs.push_back(
          {static_cast<std::int64_t>(stored.runs.size() + 1), cell, made_up(r, 0.1)});
    }
  }
  std::vector<std::uint32_t> all(30);
  std::iota(all.begin(), all.end(), 0U);
  Repeats coarse(1, PrecisionRule{.half_width = 0.2}, {all, all}, stored);
  EXPECT_FALSE(coarse.another(0, Nanos{0})) << "what is stored is precise enough";
  EXPECT_EQ(coarse.event().stopping.reason, "precision");
  EXPECT_EQ(coarse.event().stopping.rounds, 30U);
  Repeats fine(1, PrecisionRule{.half_width = 0.001, .most_rounds = 32},
               {all, {all.begin(), all.end() - 1}}, stored);
  EXPECT_TRUE(fine.another(0, Nanos{0}));
  EXPECT_TRUE(fine.finished(1, 29))
      << "what is left of a round that was cut off is not made up for";
  EXPECT_FALSE(fine.finished(0, 30));
  EXPECT_EQ(fine.runs_expected(), 4U);
}

// --- the loop, on files ------------------------------------------------------------------------

class RoundLoop : public ::testing::Test {
 protected:
  RoundLoop() {
    for (int f = 0; f < 20; ++f) {
      data_.write("f" + std::to_string(f), std::string(700, 'x'));
    }
    source_ = open_source({data_.path(), ""}).value();
    settings_.probe = false;
    settings_.key = "rounds";
    settings_.on_round = [this](const RoundEvent& e) { last_ = e; };
    for (const char* arm : {"a", "b"}) {
      CellSettings cell;
      cell.order = Order::path;
      cell.engine = EngineKind::psync;
      cell.direct = false;
      settings_.cells.push_back({cell, {{{"arm", arm}}}, {}});
    }
  }

  Exit run(const PrecisionRule& rule) {
    settings_.precision = rule;
    ResultStore store = ResultStore::open(db_.path("r.db")).value();
    const auto ended = run_experiment(
        source_, settings_, &store, [this](const RunEvent& e) { on_run(e); }, stop_);
    EXPECT_TRUE(ended) << ended.error().message();
    return ended.value_or(Exit::failed);
  }
  void on_run(const RunEvent& e) {
    repeats_.push_back(e.run.repeat);
    stop_.store(repeats_.size() == stop_after_);
  }
  StoredExperiment stored() {
    auto reader = ResultReader::open(db_.path("r.db")).value();
    auto all = reader.experiments().value();
    EXPECT_EQ(all.size(), 1U);
    return all.back();
  }

  TempDir data_, db_;
  Source source_;
  ExperimentSettings settings_;
  RoundEvent last_;
  std::vector<std::uint32_t> repeats_;  // of every run, in the order in which they were made
  std::size_t stop_after_ = 0;
  std::atomic<bool> stop_{false};
};

constexpr PrecisionRule kNever{.half_width = 1e-9, .most_rounds = 12};

TEST_F(RoundLoop, StopsAtTheMostAndStoresWhy) {
  EXPECT_EQ(run(kNever), Exit::done);
  EXPECT_EQ(repeats_.size(), 24U);
  ASSERT_TRUE(stored().stopping);
  EXPECT_EQ(stored().stopping->reason, "repeats-max");
  EXPECT_EQ(stored().stopping->rounds, 12U);
  EXPECT_EQ(stored().stopping->precision, 1e-9);
  EXPECT_EQ(stored().stopping->half_width, last_.stopping.half_width);
}

TEST_F(RoundLoop, StopsAtTheTimeLimitAfterAWholeRound) {
  EXPECT_EQ(run({.half_width = 1e-9, .time_limit = Nanos{1}}), Exit::done);
  EXPECT_EQ(repeats_, (std::vector<std::uint32_t>{0, 0}));
  EXPECT_EQ(stored().stopping->reason, "time-limit");
  EXPECT_EQ(stored().stopping->time_limit_ns, 1);
}

TEST_F(RoundLoop, GoesOnAfterTheRoundThatWasCutOff) {
  stop_after_ = 7;
  EXPECT_EQ(run(kNever), Exit::interrupted);
  EXPECT_EQ(stored().stopping->reason, "interrupted");
  EXPECT_EQ(stored().stopping->rounds, 3U);
  stop_.store(false);
  repeats_.clear();
  stop_after_ = 0;
  EXPECT_EQ(run(kNever), Exit::done);
  EXPECT_EQ(repeats_.front(), 4U) << "of round 3 one run is stored: it has no pair";
  EXPECT_EQ(repeats_.size(), 2U * (12 - 4));
  EXPECT_EQ(stored().stopping->reason, "repeats-max");
}

TEST_F(RoundLoop, OfAPrecisionThatIsReachedMeasuresNothingAndOfAFinerOneGoesOn) {
  run(kNever);
  const double reached = *last_.stopping.half_width;
  repeats_.clear();
  EXPECT_EQ(run({.half_width = reached * 1.01, .most_rounds = 100}), Exit::done);
  EXPECT_TRUE(repeats_.empty());
  EXPECT_EQ(stored().stopping->reason, "precision");
  EXPECT_EQ(run({.half_width = 1e-9, .most_rounds = 14}), Exit::done);
  EXPECT_EQ(repeats_.size(), 4U);
  EXPECT_EQ(stored().stopping->rounds, 14U);
}

TEST_F(RoundLoop, LeavesNoRuleBesideANumberOfRepeats) {
  settings_.repeats = 3;
  ResultStore store = ResultStore::open(db_.path("r.db")).value();
  ASSERT_TRUE(run_experiment(
      source_, settings_, &store, [this](const RunEvent& e) { on_run(e); }, stop_));
  EXPECT_EQ(repeats_.size(), 6U);
  EXPECT_FALSE(stored().stopping);
}

// --- what it came to, in words -----------------------------------------------------------------

TEST(StoppingText, CountsRoundsAndSaysWhyItStopped) {
  StoppingRecord met;
  met.precision = 0.02;
  met.rounds = 1;
  met.reason = "precision";
  EXPECT_TRUE(stopping_text({{"", met}})
                  .starts_with("after 1 round (--repeats auto): every interval is within 2.0 %\n"));
  StoppingRecord most = met;
  most.repeats_max = most.rounds = 2;
  most.intervals = 3;
  most.reached = 1;
  most.reason = "repeats-max";
  EXPECT_TRUE(stopping_text({{"sda", most}})
                  .starts_with("sda: after 2 rounds (--repeats auto): 1 of 3 intervals within "
                               "2.0 %; --repeats-max 2 was reached\n"));
  EXPECT_EQ(stopping_text({}), "");
  for (const auto& [reason, text] :
       {std::pair{"time-limit", "--time-limit 3 s was reached"},
        {"no-pairs", "no cell has a complete run beside one of the baseline"},
        {"fio-clock", "is too coarse: only longer epochs help"},
        {"gpu-lost", "the GPU was lost"},
        {"interrupted", "interrupted: the same command goes on"}}) {
    StoppingRecord other = most;
    other.time_limit_ns = 3'000'000'000;
    other.reason = reason;
    EXPECT_NE(stopping_text({{"", other}}).find(text), std::string::npos) << reason;
  }
}

TEST(StoppingText, HasTwoDigitsThatMatter) {
  EXPECT_EQ(percent_text(1.2), "120 %");
  EXPECT_EQ(percent_text(0.0995), "10 %");
  EXPECT_EQ(percent_text(0.0994), "9.9 %");
  EXPECT_EQ(percent_text(0.00995), "1.0 %");
  EXPECT_EQ(percent_text(0.0037), "0.37 %");
  EXPECT_EQ(percent_text(0.000034), "0.0034 %");
  EXPECT_EQ(percent_text(0), "0.00 %");
}

}  // namespace
}  // namespace blksweep
