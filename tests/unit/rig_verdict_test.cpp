#include "store/summary/rig_verdict.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "store/summary/pairs.h"
#include "support/rig_session.h"

namespace blksweep {
namespace {

TEST(RigVerdict, SaysThatControlsPassed) {
  expect_rig_line(rig_session(6, 1), "controls passed: a/a ");
  expect_rig_line(rig_session(6, 1), " samples/s (");
  expect_rig_line(rig_session(6, 1), "(6 rounds)");
  expect_rig_line(rig_session(3, 1), "controls not judged yet");
  for (const std::uint32_t rounds : {1U, 2U, 6U, 10U}) {  // of one round there is no interval
    EXPECT_EQ(rig_notes(judge_rig(rig_session(rounds, 1))), "") << rounds;
  }
}

// Runs that a stop has parted from their baseline are no pairs: five rounds are not five tests.
TEST(RigVerdict, CountsPairsAndNotRuns) {
  expect_rig_line(rig_session(5, 1,
                              [](RunRecord& r, std::int64_t id) {
                                r.session_id = r.repeat > 2 || (r.repeat == 2 && id > kLba) ? 2 : 1;
                              }),
                  "controls not judged yet");
  expect_rig_line(
      rig_session(5, 1, [](RunRecord& r, std::int64_t id) { r.incomplete = id == kSame; }),
      "controls not judged yet");
}

TEST(RigVerdict, SaysWhatASessionIsTooNoisyFor) {
  const RigVerdict v = judge_rig(rig_session(5, 1, [](RunRecord& r, std::int64_t id) {
    r.epoch_ns *= id == kSame && r.repeat % 2 == 1 ? 3 : 1;
  }));
  EXPECT_TRUE(rig_line(v).starts_with("controls passed")) << rig_line(v);
  EXPECT_NE(rig_notes(v).find("limit: equal cells were measured as"), std::string::npos)
      << rig_notes(v);
}

// Controls repeat a cell of the experiment: what a report compares with, and which cells stand
// before it, is another thing.
TEST(RigVerdict, ComparesControlsWithTheCellThatTheyRepeat) {
  SummaryInput compared = rig_session(6, 1);
  compared.baseline = {{"order", "lba"}};
  EXPECT_EQ(first_rig_line(compared), first_rig_line(rig_session(6, 1)));
  SummaryInput sorted = rig_session(6, 1);  // no random order among ours: the baseline is the other
  std::erase_if(sorted.cells, [](const StoredCell& c) { return c.id == kRandom; });
  sorted.cells[1] = rig_cell(kSame, "lba", "a/a");
  for (StoredRun& r : sorted.runs) {
    r.run.epoch_ns /= r.cell_id == kSame ? 5 : 1;
  }
  expect_rig_line(sorted, "controls passed");
  SummaryInput peer = rig_session(6, 1);
  peer.cells.insert(peer.cells.begin(), rig_cell(99, "-", ""));
  peer.cells[0].cell.settings.emplace_back("peer", "torch");
  std::ranges::for_each(peer.cells, [](StoredCell& c) { c.cell.settings[1].second = "file"; });
  expect_rig_line(peer, "controls passed");
  SummaryInput alone = rig_session(6, 1);  // nothing says what the others repeat
  std::erase_if(alone.cells, [](const StoredCell& c) { return c.id == kSame; });
  SummaryInput turned = alone;
  std::ranges::reverse(turned.cells);
  EXPECT_EQ(first_rig_line(turned), first_rig_line(alone)) << "whichever comes first";
}

// Where something else is slower than the disk no order gains, and the addresses may be true.
TEST(RigVerdict, NoGainIsNoFaultWhereNothingWaitsForTheDisk) {
  const RunChange no_gain = [](RunRecord& r, std::int64_t id) {
    r.epoch_ns *= id == kLba || id == kReverse ? 5 : 1;
  };
  for (const auto& [name, value] : {std::pair{"consumer", "emulated"},
                                    {"bandwidth-limit", "1000000/s"},
                                    {"iops-limit", "100"},
                                    {"sort-window", "100%"},
                                    {"decode-cpu", "1ms"}}) {
    SummaryInput input = rig_session(6, 1, no_gain);
    std::ranges::for_each(input.cells, [&, &named = name, &word = value](StoredCell& c) {
      c.cell.settings.emplace_back(named, word);
    });
    expect_rig_line(input, "controls passed");
  }
  SummaryInput warm = rig_session(6, 1, no_gain);
  std::ranges::for_each(warm.cells, [](StoredCell& c) {
    c.cell.settings[2].second = "warm";
    c.cell.settings.emplace_back("io", "buffered");
  });
  expect_rig_line(warm, "controls passed");
}

TEST(RigVerdict, WhatIsKeptInMemoryByIntentIsNotLeftThere) {
  for (const auto& [cache, pages] : {std::pair{"cold", "50%"}, {"drop-2", "0%"}}) {
    SummaryInput input = rig_session(6, 1, [](RunRecord& r, std::int64_t) {
      r.resident_before = 0.5;
      r.device_bytes = 1 << 20;
    });
    std::ranges::for_each(input.cells, [&, &state = cache, &share = pages](StoredCell& c) {
      c.cell.settings[2].second = state;
      c.cell.settings.emplace_back("pin-pages", share);
    });
    expect_rig_line(input, "controls passed");
  }
}

TEST(RigVerdict, SaysNothingWithoutControls) {
  SummaryInput input = rig_session(6, 1);
  input = without_controls(input);
  EXPECT_EQ(input.cells.size(), 2U);
  EXPECT_EQ(input.runs.size(), 12U);
  EXPECT_EQ(first_rig_line(input), "");
  EXPECT_TRUE(rig_json(judge_rig(input)).is_null());
}

TEST(RigVerdict, ControlsAreNoRowsAndNoComparisons) {
  const auto with = summarize(rig_session(6, 1));
  const auto without = summarize(without_controls(rig_session(6, 1)));
  ASSERT_EQ(with.size(), 2U);
  EXPECT_EQ(with[1].label, without[1].label);
  EXPECT_EQ(with[1].ratio->value, without[1].ratio->value);
  const std::vector<Series> series = series_of(rig_session(6, 1));  // what --repeats auto waits for
  ASSERT_EQ(series.size(), 1U);
  EXPECT_EQ(series[0].values, series_of(without_controls(rig_session(6, 1)))[0].values);
}

TEST(RigVerdict, ARunThatDeliveredNothingHasNoSpeed) {
  StoredRun none, one;
  one.run.samples = 1;
  none.run.epoch_ns = one.run.epoch_ns = 1'000'000'000;
  EXPECT_EQ(speeds_of({&none, &one}), std::vector<double>{1});
}

// The rate that docs/controls.md claims, of the judging alone: real rigs are in tests/soak.
TEST(RigVerdict, CriesWolfInFewSessions) {
  int wrong = 0, noisy = 0;
  constexpr int kSessions = 1000;
  for (int s = 0; s < kSessions; ++s) {
    const std::string said = first_rig_line(
        rig_session(5 + static_cast<std::uint32_t>(s % 6), static_cast<std::uint64_t>(s)));
    wrong += said.starts_with("BROKEN") || said.starts_with("CONTROL") ? 1 : 0;
    noisy += said.starts_with("NOISE") ? 1 : 0;
  }
  EXPECT_LE(wrong, kSessions * 2 / 100);
  EXPECT_LE(wrong + noisy, kSessions * 5 / 100);
}

TEST(RigVerdict, FindsABaselineThatDiffersFromItself) {
  const RunChange slow = [](RunRecord& r, std::int64_t id) {
    r.epoch_ns = id == kSame ? r.epoch_ns * 3 / 2 : r.epoch_ns;
  };
  expect_rig_line(rig_session(6, 1, slow),
                  "CONTROL a/a FAILED: the baseline differs from itself: 0.6");
}

TEST(RigVerdict, FindsAGainWithoutSeeks) {
  const RunChange gain = [](RunRecord& r, std::int64_t id) {
    r.epoch_ns = id == kRamRandom ? r.epoch_ns * 2 : r.epoch_ns;
  };
  expect_rig_line(rig_session(6, 1, gain), "CONTROL ram FAILED: LBA order gains 2.");
  const RunChange of_the_host = [&](RunRecord& r, std::int64_t id) {
    gain(r, id);
    r.cpu_ns *= id == kRamRandom ? 2 : 1;
  };
  expect_rig_line(rig_session(6, 1, of_the_host), "controls passed");
}

TEST(RigVerdict, NamesRoundsOfASlowCpu) {
  const auto slow = [](RunRecord& r, bool clocked) {
    if (r.repeat == 1 || r.repeat == 4) {
      r.noise->spin_before_wall_ns = r.noise->spin_after_wall_ns = 12'100'000;
      if (clocked) {
        r.noise->spin_before_cpu_ns = r.noise->spin_after_cpu_ns = 12'000'000;
      }
    }
  };
  expect_rig_line(
      rig_session(6, 1, [&](RunRecord& r, std::int64_t) { slow(r, false); }),
      "NOISE: the CPU was slow in rounds 2, 5 of 6: 50 % of its speed in the others, by fixed "
      "work (median); others ran on it");
  expect_rig_line(rig_session(6, 1, [&](RunRecord& r, std::int64_t) { slow(r, true); }),
                  "(median); it was clocked down");
  const RunChange held = [](RunRecord& r, std::int64_t) {
    r.noise->throttled_ns = r.repeat == 2 ? r.epoch_ns / 2 : 0;
  };
  expect_rig_line(rig_session(6, 1, held), "NOISE: the CPU was slow in round 3 of 6");
  // One of the two spins is a moment, not a round.
  const RunChange once = [](RunRecord& r, std::int64_t) {
    r.noise->spin_before_wall_ns = r.repeat == 1 ? 20'000'000 : 6'100'000;
  };
  expect_rig_line(rig_session(6, 1, once), "controls passed");
}

SummaryInput slow_fourth_round(const std::function<void(RunRecord&)>& change) {
  return rig_session(10, 1, [&](RunRecord& r, std::int64_t) {
    if (r.repeat == 3) {
      r.epoch_ns = r.epoch_ns * 3 / 2;
      change(r);
    }
  });
}

TEST(RigVerdict, NamesARoundThatStandsOutAndWhy) {
  const SummaryInput input =
      slow_fourth_round([](RunRecord& r) { r.noise->steal_ns = r.epoch_ns / 2; });
  expect_rig_line(input, "NOISE: round 4 stands out, 4");
  expect_rig_line(input, "slower over all cells; likely: the hypervisor took 50 % of a CPU");
  EXPECT_EQ(summarize(input)[0].runs, 10U) << "it is not left out";
  const auto hot = [](RunRecord& r) { r.noise->thermal_throttles = 1; };
  expect_rig_line(slow_fourth_round(hot), "likely: a CPU was too hot");
  const auto cool = [](RunRecord& r) { r.noise->thermal_throttles = 0; };
  expect_rig_line(slow_fourth_round(cool), "cause not seen");
  expect_rig_line(slow_fourth_round([](RunRecord&) {}), "cause not seen");
  const auto uncounted = [](RunRecord& r) { r.others_read_bytes.reset(), r.noise.reset(); };
  expect_rig_line(slow_fourth_round(uncounted), "cause not seen");
}

// What is read from memory, or not at all, has rounds of its own.
TEST(RigVerdict, ARoundStandsOutByCellsThatReadTheDisk) {
  const auto slow = [](const std::set<std::int64_t>& cells) {
    return first_rig_line(rig_session(10, 1, [&](RunRecord& r, std::int64_t id) {
      r.epoch_ns = r.repeat == 3 && cells.contains(id) ? r.epoch_ns * 3 / 2 : r.epoch_ns;
    }));
  };
  EXPECT_EQ(slow({kRamRandom, kRamLba, kNoOp}).find("stands out"), std::string::npos);
  const std::string line = slow({kRandom, kLba, kSame, kReverse});
  EXPECT_NE(line.find("round 4 stands out"), std::string::npos) << line;
}

TEST(RigVerdict, NamesADriftOfTheBaseline) {
  const RunChange drift = [](RunRecord& r, std::int64_t) {
    r.epoch_ns = std::llround(static_cast<double>(r.epoch_ns) * std::exp(0.06 * r.repeat));
  };
  expect_rig_line(rig_session(10, 1, drift), "NOISE: the baseline drifts: ");
}

TEST(RigVerdict, SaysWhatIsLimitedByTheTool) {
  const RigVerdict v = judge_rig(rig_session(6, 1, [](RunRecord& r, std::int64_t id) {
    r.epoch_ns = id == kNoOp ? 150'000'000 : r.epoch_ns;
  }));
  EXPECT_TRUE(rig_line(v).starts_with("controls passed")) << rig_line(v);
  EXPECT_NE(rig_notes(v).find("limit: 1 cell is limited by the tool"), std::string::npos);
}

TEST(RigVerdict, TheToolsLimitIsOfOurCellsAndNotOfPeers) {
  for (const auto& [peer, limited] : {std::pair{"-", true}, {"torch", false}, {"x", false}}) {
    SummaryInput input = rig_session(6, 1, [](RunRecord& r, std::int64_t id) {
      r.epoch_ns = id == kNoOp ? 150'000'000 : r.epoch_ns;
    });
    for (StoredCell& c : input.cells) {
      c.cell.settings.emplace_back("peer", c.id == kLba ? peer : "-");
    }
    EXPECT_EQ(rig_notes(judge_rig(input)).find("limited by the tool") != std::string::npos, limited)
        << peer;
  }
}

TEST(RigVerdict, TheWeightiestComesFirst) {
  const RigVerdict v = judge_rig(rig_session(6, 1, [](RunRecord& r, std::int64_t id) {
    r.others_read_bytes = 16 << 20;
    r.epoch_ns = id == kSame ? r.epoch_ns * 2 : r.epoch_ns;
    r.noise->throttled_ns = r.repeat == 2 ? r.epoch_ns / 2 : 0;
  }));
  ASSERT_GE(v.remarks.size(), 3U);
  EXPECT_EQ(v.remarks[0].about, "others");
  EXPECT_EQ(v.remarks[1].about, "a/a");
  EXPECT_EQ(v.remarks[2].about, "cpu");
  const std::string notes = rig_notes(v);
  EXPECT_EQ(std::ranges::count(notes, '\n'), static_cast<long>(v.remarks.size()))
      << "a line for each but the first, and one of all figures";
  EXPECT_NE(notes.find("\ncontrols: a/a 0.5"), std::string::npos) << notes;
  EXPECT_NE(notes.find(" (6 rounds)\n"), std::string::npos) << notes;
  EXPECT_EQ(rig_json(v)["line"], rig_line(v));
  EXPECT_EQ(rig_json(v)["findings"].size(), v.remarks.size());
}

}  // namespace
}  // namespace blksweep
