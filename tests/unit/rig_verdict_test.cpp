#include "store/rig_verdict.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/rng.h"
#include "store/pairs.h"

namespace blksweep {
namespace {

constexpr std::int64_t kRandom = 1, kLba = 2, kSame = 3, kRamRandom = 4, kRamLba = 5, kReverse = 6,
                       kNoOp = 7;
constexpr std::int64_t kCells[] = {kRandom, kLba, kSame, kRamRandom, kRamLba, kReverse, kNoOp};

StoredCell cell(std::int64_t id, const std::string& order, const std::string& control) {
  StoredCell c{id, {{{"order", order}, {"merge", "none"}, {"cache", "cold"}}}};
  if (!control.empty()) {
    c.cell.settings.emplace_back("control", control);
  }
  return c;
}

double usual_epoch_ms(std::int64_t id) {
  switch (id) {
    case kLba:
    case kReverse:
      return 200;
    case kRamRandom:
    case kRamLba:
      return 20;
    case kNoOp:
      return 1;
    default:
      return 1000;
  }
}

using Change = std::function<void(RunRecord&, std::int64_t cell)>;

// A sound session on a rotating emulated disk: 3 % of noise for each run.
SummaryInput session(
    std::uint32_t rounds, std::uint64_t seed, const Change& change = [](auto&, auto) {}) {
  SummaryInput input;
  input.cells = {cell(kRandom, "random", ""),   cell(kLba, "lba", ""),
                 cell(kSame, "random", "a/a"),  cell(kRamRandom, "random", "ram"),
                 cell(kRamLba, "lba", "ram"),   cell(kReverse, "reverse", "reverse"),
                 cell(kNoOp, "random", "no-op")};
  HostRecord& host = input.hosts[""];
  host.rotational = true;
  host.layers = {{"loop0", "kind", "loop"}, {"loop0", "emulation", "emulated hdd-7200 x1 00"}};
  Rng rng(seed);
  for (std::uint32_t r = 0; r < rounds; ++r) {
    for (const std::int64_t id : kCells) {
      StoredRun stored;
      stored.id = r * 10 + id;
      stored.cell_id = id;
      RunRecord& run = stored.run;
      run.session_id = 1;
      run.repeat = r;
      run.samples = 1000;
      run.bytes = run.own_read_bytes.emplace(32 << 20);
      run.read_bytes = run.device_bytes.emplace(33 << 20);
      run.device_reads = 1000;
      run.others_read_bytes = 0;
      run.resident_before = 0;
      run.cpu_ns = 5'000'000;
      run.epoch_ns = std::llround(usual_epoch_ms(id) * 1e6 * std::exp(0.03 * rng.normal()));
      run.probe.emplace();
      run.probe->in_plan = 0.97;
      run.probe->plan_order = 0.99;
      run.noise.emplace();
      run.noise->steal_ns = run.noise->throttled_ns = 0;
      run.noise->cpu_pressure_ns = run.epoch_ns / 20;
      run.noise->spin_before_wall_ns = run.noise->spin_after_wall_ns = 6'100'000;
      run.noise->spin_before_cpu_ns = run.noise->spin_after_cpu_ns = 6'000'000;
      change(run, id);
      input.runs.push_back(std::move(stored));
    }
  }
  return input;
}

std::string line(const SummaryInput& input) { return rig_line(judge_rig(input)); }

void expect_line(const SummaryInput& input, const std::string& text) {
  EXPECT_NE(line(input).find(text), std::string::npos) << line(input);
}

TEST(RigVerdict, SaysThatControlsPassed) {
  expect_line(session(6, 1), "controls passed: a/a ");
  expect_line(session(6, 1), " samples/s (");
  expect_line(session(6, 1), "(6 rounds)");
  expect_line(session(3, 1), "controls not judged yet");
  for (const std::uint32_t rounds : {1U, 2U, 6U, 10U}) {  // of one round there is no interval
    EXPECT_EQ(rig_notes(judge_rig(session(rounds, 1))), "") << rounds;
  }
}

// Runs that a stop has parted from their baseline are no pairs: five rounds are not five tests.
TEST(RigVerdict, CountsPairsAndNotRuns) {
  expect_line(session(5, 1,
                      [](RunRecord& r, std::int64_t id) {
                        r.session_id = r.repeat > 2 || (r.repeat == 2 && id > kLba) ? 2 : 1;
                      }),
              "controls not judged yet");
  expect_line(session(5, 1, [](RunRecord& r, std::int64_t id) { r.incomplete = id == kSame; }),
              "controls not judged yet");
}

TEST(RigVerdict, SaysWhatASessionIsTooNoisyFor) {
  const RigVerdict v = judge_rig(session(5, 1, [](RunRecord& r, std::int64_t id) {
    r.epoch_ns *= id == kSame && r.repeat % 2 == 1 ? 3 : 1;
  }));
  EXPECT_TRUE(rig_line(v).starts_with("controls passed")) << rig_line(v);
  EXPECT_NE(rig_notes(v).find("limit: equal cells were measured as"), std::string::npos)
      << rig_notes(v);
}

// Controls repeat a cell of the experiment: what a report compares with, and which cells stand
// before it, is another thing.
TEST(RigVerdict, ComparesControlsWithTheCellThatTheyRepeat) {
  SummaryInput compared = session(6, 1);
  compared.baseline = {{"order", "lba"}};
  EXPECT_EQ(line(compared), line(session(6, 1)));
  SummaryInput sorted = session(6, 1);  // no random order among ours: the baseline is the other
  std::erase_if(sorted.cells, [](const StoredCell& c) { return c.id == kRandom; });
  sorted.cells[1] = cell(kSame, "lba", "a/a");
  for (StoredRun& r : sorted.runs) {
    r.run.epoch_ns /= r.cell_id == kSame ? 5 : 1;
  }
  expect_line(sorted, "controls passed");
  SummaryInput peer = session(6, 1);
  peer.cells.insert(peer.cells.begin(), cell(99, "-", ""));
  peer.cells[0].cell.settings.emplace_back("peer", "torch");
  std::ranges::for_each(peer.cells, [](StoredCell& c) { c.cell.settings[1].second = "file"; });
  expect_line(peer, "controls passed");
  SummaryInput alone = session(6, 1);  // nothing says what the others repeat
  std::erase_if(alone.cells, [](const StoredCell& c) { return c.id == kSame; });
  SummaryInput turned = alone;
  std::ranges::reverse(turned.cells);
  EXPECT_EQ(line(turned), line(alone)) << "whichever comes first";
}

// Where something else is slower than the disk no order gains, and the addresses may be true.
TEST(RigVerdict, NoGainIsNoFaultWhereNothingWaitsForTheDisk) {
  const Change no_gain = [](RunRecord& r, std::int64_t id) {
    r.epoch_ns *= id == kLba || id == kReverse ? 5 : 1;
  };
  for (const auto& [name, value] : {std::pair{"consumer", "emulated"},
                                    {"bandwidth-limit", "1000000/s"},
                                    {"iops-limit", "100"},
                                    {"sort-window", "100%"},
                                    {"decode-cpu", "1ms"}}) {
    SummaryInput input = session(6, 1, no_gain);
    std::ranges::for_each(input.cells, [&, &named = name, &word = value](StoredCell& c) {
      c.cell.settings.emplace_back(named, word);
    });
    expect_line(input, "controls passed");
  }
  SummaryInput warm = session(6, 1, no_gain);
  std::ranges::for_each(warm.cells, [](StoredCell& c) {
    c.cell.settings[2].second = "warm";
    c.cell.settings.emplace_back("io", "buffered");
  });
  expect_line(warm, "controls passed");
}

TEST(RigVerdict, WhatIsKeptInMemoryByIntentIsNotLeftThere) {
  for (const auto& [cache, pages] : {std::pair{"cold", "50%"}, {"drop-2", "0%"}}) {
    SummaryInput input = session(6, 1, [](RunRecord& r, std::int64_t) {
      r.resident_before = 0.5;
      r.device_bytes = 1 << 20;
    });
    std::ranges::for_each(input.cells, [&, &state = cache, &share = pages](StoredCell& c) {
      c.cell.settings[2].second = state;
      c.cell.settings.emplace_back("pin-pages", share);
    });
    expect_line(input, "controls passed");
  }
}

TEST(RigVerdict, SaysNothingWithoutControls) {
  SummaryInput input = session(6, 1);
  input = without_controls(input);
  EXPECT_EQ(input.cells.size(), 2U);
  EXPECT_EQ(input.runs.size(), 12U);
  EXPECT_EQ(line(input), "");
  EXPECT_TRUE(rig_json(judge_rig(input)).is_null());
}

TEST(RigVerdict, ControlsAreNoRowsAndNoComparisons) {
  const auto with = summarize(session(6, 1));
  const auto without = summarize(without_controls(session(6, 1)));
  ASSERT_EQ(with.size(), 2U);
  EXPECT_EQ(with[1].label, without[1].label);
  EXPECT_EQ(with[1].ratio->value, without[1].ratio->value);
  const std::vector<Series> series = series_of(session(6, 1));  // what --repeats auto waits for
  ASSERT_EQ(series.size(), 1U);
  EXPECT_EQ(series[0].values, series_of(without_controls(session(6, 1)))[0].values);
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
    const std::string said =
        line(session(5 + static_cast<std::uint32_t>(s % 6), static_cast<std::uint64_t>(s)));
    wrong += said.starts_with("BROKEN") || said.starts_with("CONTROL") ? 1 : 0;
    noisy += said.starts_with("NOISE") ? 1 : 0;
  }
  EXPECT_LE(wrong, kSessions * 2 / 100);
  EXPECT_LE(wrong + noisy, kSessions * 5 / 100);
}

TEST(RigVerdict, FindsDataLeftInTheCache) {
  expect_line(session(2, 1, [](RunRecord& r, std::int64_t) { r.resident_before = 0.9; }),
              "BROKEN RIG: data left in the cache: 8 of 8 cold runs began with 90 %");
  expect_line(session(2, 1, [](RunRecord& r, std::int64_t) { r.device_bytes = 1 << 20; }),
              "BROKEN RIG: data left in the cache: in 8 of 8 runs the disk read 3 %");
}

TEST(RigVerdict, FindsTheMapOfAnotherDisk) {
  expect_line(session(2, 1, [](RunRecord& r, std::int64_t) { r.probe->in_plan = 0.1; }),
              "BROKEN RIG: the map of addresses is not that of this disk: in 8 of 8");
  expect_line(session(2, 1, [](RunRecord& r, std::int64_t) { r.probe->plan_order = 0.02; }),
              "BROKEN RIG: the map of addresses");
  expect_line(session(6, 1, [](RunRecord& r, std::int64_t) { r.probe.reset(); }),
              "controls passed");  // unknown is no finding
}

TEST(RigVerdict, FindsAddressesThatAreNotTheMediums) {
  expect_line(session(6, 1,
                      [](RunRecord& r, std::int64_t id) {
                        r.epoch_ns *= id == kLba || id == kReverse ? 5 : 1;
                      }),
              "CONTROL reverse FAILED: neither address order nor its reverse");
}

TEST(RigVerdict, FindsADiskThatAnswersFromMemory) {
  const Change fast = [](RunRecord& r, std::int64_t id) {
    r.prediction.emplace();
    r.prediction->model = "hdd-7200";
    r.prediction->error = id == kSame ? 4.0 : 0.0;  // 20 % of the time that its model needs
  };
  expect_line(session(2, 1, fast), "BROKEN RIG: the disk answers from memory: 2 of 2 runs of a/a");
  SummaryInput hardware = session(2, 1, fast);
  hardware.hosts[""].layers = {{"sda", "kind", "hardware"}};  // a model there is a question
  expect_line(hardware, "controls not judged yet");
  for (StoredRun& r : hardware.runs) {
    r.run.device_reads = 5000;
  }
  expect_line(hardware, "BROKEN RIG: the disk answers from memory: 5,");
  hardware.hosts[""].layers = {{"vda", "kind", "virtual"}};  // says that it rotates, as they do
  expect_line(hardware, "controls not judged yet");
}

TEST(RigVerdict, WhereOthersReadTheirRequestsSayNothingOfTheMap) {
  const Change others = [](RunRecord& r, std::int64_t) {
    r.others_read_bytes = 16 << 20;
    r.probe->in_plan = 0.87;
    r.probe->plan_order = 0.34;
  };
  expect_line(session(2, 1, others), "BROKEN RIG: somebody else reads the disk");
}

TEST(RigVerdict, FindsASecondReader) {
  expect_line(session(2, 1, [](RunRecord& r, std::int64_t) { r.others_read_bytes = 16 << 20; }),
              "BROKEN RIG: somebody else reads the disk: in 8 of 8 runs, 50 %");
}

TEST(RigVerdict, FindsABaselineThatDiffersFromItself) {
  const Change slow = [](RunRecord& r, std::int64_t id) {
    r.epoch_ns = id == kSame ? r.epoch_ns * 3 / 2 : r.epoch_ns;
  };
  expect_line(session(6, 1, slow), "CONTROL a/a FAILED: the baseline differs from itself: 0.6");
}

TEST(RigVerdict, FindsAGainWithoutSeeks) {
  const Change gain = [](RunRecord& r, std::int64_t id) {
    r.epoch_ns = id == kRamRandom ? r.epoch_ns * 2 : r.epoch_ns;
  };
  expect_line(session(6, 1, gain), "CONTROL ram FAILED: LBA order gains 2.");
  const Change of_the_host = [&](RunRecord& r, std::int64_t id) {
    gain(r, id);
    r.cpu_ns *= id == kRamRandom ? 2 : 1;
  };
  expect_line(session(6, 1, of_the_host), "controls passed");
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
  expect_line(
      session(6, 1, [&](RunRecord& r, std::int64_t) { slow(r, false); }),
      "NOISE: the CPU was slow in rounds 2, 5 of 6: 50 % of its speed in the others, by fixed "
      "work (median); others ran on it");
  expect_line(session(6, 1, [&](RunRecord& r, std::int64_t) { slow(r, true); }),
              "(median); it was clocked down");
  const Change held = [](RunRecord& r, std::int64_t) {
    r.noise->throttled_ns = r.repeat == 2 ? r.epoch_ns / 2 : 0;
  };
  expect_line(session(6, 1, held), "NOISE: the CPU was slow in round 3 of 6");
  // One of the two spins is a moment, not a round.
  const Change once = [](RunRecord& r, std::int64_t) {
    r.noise->spin_before_wall_ns = r.repeat == 1 ? 20'000'000 : 6'100'000;
  };
  expect_line(session(6, 1, once), "controls passed");
}

SummaryInput slow_fourth_round(const std::function<void(RunRecord&)>& change) {
  return session(10, 1, [&](RunRecord& r, std::int64_t) {
    if (r.repeat == 3) {
      r.epoch_ns = r.epoch_ns * 3 / 2;
      change(r);
    }
  });
}

TEST(RigVerdict, NamesARoundThatStandsOutAndWhy) {
  const SummaryInput input =
      slow_fourth_round([](RunRecord& r) { r.noise->steal_ns = r.epoch_ns / 2; });
  expect_line(input, "NOISE: round 4 stands out, 4");
  expect_line(input, "slower over all cells; likely: the hypervisor took 50 % of a CPU");
  EXPECT_EQ(summarize(input)[0].runs, 10U) << "it is not left out";
  const auto hot = [](RunRecord& r) { r.noise->thermal_throttles = 1; };
  expect_line(slow_fourth_round(hot), "likely: a CPU was too hot");
  const auto cool = [](RunRecord& r) { r.noise->thermal_throttles = 0; };
  expect_line(slow_fourth_round(cool), "cause not seen");
  expect_line(slow_fourth_round([](RunRecord&) {}), "cause not seen");
  const auto uncounted = [](RunRecord& r) { r.others_read_bytes.reset(), r.noise.reset(); };
  expect_line(slow_fourth_round(uncounted), "cause not seen");
}

TEST(RigVerdict, NamesADriftOfTheBaseline) {
  const Change drift = [](RunRecord& r, std::int64_t) {
    r.epoch_ns = std::llround(static_cast<double>(r.epoch_ns) * std::exp(0.06 * r.repeat));
  };
  expect_line(session(10, 1, drift), "NOISE: the baseline drifts: ");
}

TEST(RigVerdict, SaysWhatIsLimitedByTheTool) {
  const RigVerdict v = judge_rig(session(6, 1, [](RunRecord& r, std::int64_t id) {
    r.epoch_ns = id == kNoOp ? 150'000'000 : r.epoch_ns;
  }));
  EXPECT_TRUE(rig_line(v).starts_with("controls passed")) << rig_line(v);
  EXPECT_NE(rig_notes(v).find("limit: 1 cell is limited by the tool"), std::string::npos);
}

TEST(RigVerdict, TheToolsLimitIsOfOurCellsAndNotOfPeers) {
  for (const auto& [peer, limited] : {std::pair{"-", true}, {"torch", false}, {"x", false}}) {
    SummaryInput input = session(6, 1, [](RunRecord& r, std::int64_t id) {
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
  const RigVerdict v = judge_rig(session(6, 1, [](RunRecord& r, std::int64_t id) {
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
