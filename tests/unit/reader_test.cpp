#include "loader/reader.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "support/reader_rig.h"

namespace blksweep {
namespace {

using support::FakeEngine;
using support::ReaderRig;
using support::ReaderRigSettings;

using Asked = FakeEngine::Asked;

std::int32_t all(const Asked& a) { return static_cast<std::int32_t>(a.length); }

// Short reads of any length, now and then EAGAIN and EINTR.
std::function<std::int32_t(const Asked&)> moody(std::uint64_t seed) {
  return [rng = Rng(seed)](const Asked& a) mutable -> std::int32_t {
    switch (rng.below(6)) {
      case 0:
        return -EAGAIN;
      case 1:
        return -EINTR;
      case 2:
        return static_cast<std::int32_t>(1 + rng.below(a.length));
      case 3:
        return static_cast<std::int32_t>(a.length - a.length / 3);
      default:
        return all(a);
    }
  };
}

void expect_everything(const ReaderRig& rig) {
  ASSERT_TRUE(rig.result) << rig.result.error().message();
  EXPECT_EQ(rig.wrong_bytes(), "");
  EXPECT_EQ(rig.engine.wrong, "");
  EXPECT_TRUE(rig.lost().empty());
  EXPECT_EQ(rig.delivered(), rig.plan.order.size());
  EXPECT_EQ(rig.engine.in_flight(), 0U);
  EXPECT_LE(rig.engine.most_in_flight, rig.settings.depth);
}

// Few slots, so that files are closed and opened again while reads on them come back short.
TEST(Reader, PutsEveryByteInItsPlaceWhateverTheEngineDoes) {
  std::uint64_t variant = 0;
  for (const Merge merge : {Merge::none, Merge::file, Merge::kernel, Merge::device}) {
    for (const Shuffle shuffle : {Shuffle::none, Shuffle::buffer, Shuffle::reservoir}) {
      for (const std::uint32_t slots : {3U, 5U, 12U, 400U}) {
        const std::uint64_t v = ++variant;
        SCOPED_TRACE(std::string(to_string(merge)) + " " + std::string(to_string(shuffle)) + " " +
                     std::to_string(slots));
        ReaderRig rig({.data = {.files = 70, .extents_per_file = 2, .odd = 0.2, .holes = 0.1},
                       .order = v % 2 == 0 ? Order::lba : Order::random,
                       .merge = {.merge = merge,
                                 .max = {v % 5 == 0 ? 8192U : 65536U},
                                 .align = v % 3 == 0 ? 1U : 4096U,
                                 .batch = 4,
                                 .horizon = {v % 2 == 0 ? 65536U : 0U}},
                       .shuffle = {.shuffle = shuffle, .window = {400000}, .batch = 7},
                       .epochs = 2,
                       .slots = {.slots = slots,
                                 .direct = false,
                                 .openers = static_cast<unsigned>(v % 3),
                                 .ahead = 4},
                       .seed = v});
        rig.engine.outcome = moody(v);
        ASSERT_TRUE(rig.run());
        expect_everything(rig);
      }
    }
  }
}

// Parts of several files: the same file is wanted again and again, at every distance.
TEST(Reader, FindsEachFileAgainWithFewSlots) {
  for (const std::uint32_t slots : {3U, 4U, 6U, 9U, 13U}) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      ReaderRig rig({.data = {.files = 16,
                              .mean_bytes = 20000,
                              .parts_per_file = 20,
                              .part_stride = 1000,
                              .part_bytes = 1000},
                     .merge = {.merge = Merge::none, .align = 512},
                     .shuffle = {.window = {100000}, .batch = 5},
                     .depth = 16,
                     .slots = {.slots = slots, .direct = false, .openers = 0, .pending = 100},
                     .seed = seed});
      rig.engine.outcome = moody(seed);
      ASSERT_TRUE(rig.run());
      expect_everything(rig);
    }
  }
}

bool touches(const Asked& a, std::uint32_t source, std::uint64_t offset) {
  return a.source == source && offset >= a.offset && offset < a.offset + a.length;
}

// The samples of which one byte lies at `offset` of `file`.
std::set<std::uint32_t> positions_at(const ReaderRig& rig, std::uint32_t file,
                                     std::uint64_t offset) {
  std::set<std::uint32_t> out;
  for (std::uint32_t p = 0; p < rig.plan.order.size(); ++p) {
    const Sample s = rig.catalog.sample(rig.plan.order[p]);
    if (s.file == file && offset >= s.offset && offset < s.offset + s.length) {
      out.insert(p);
    }
  }
  return out;
}

TEST(Reader, OneBadBlockOfAMergedFileReadCostsOneSample) {
  ReaderRig rig({.data = {.files = 4,
                          .mean_bytes = 100000,
                          .parts_per_file = 40,
                          .part_stride = 4096,
                          .part_bytes = 4096},
                 .order = Order::path,
                 .merge = {.merge = Merge::file, .horizon = {1 << 20}, .share = {0}},
                 .shuffle = {.batch = 3}});
  ASSERT_LT(rig.plan.reads.size(), rig.plan.pieces.size() / 4) << "nothing was merged";
  const Sample bad = rig.catalog.sample(rig.plan.order[5]);
  const std::uint64_t at = bad.offset + 100;
  rig.engine.outcome = [&](const Asked& a) { return touches(a, bad.file, at) ? -EIO : all(a); };
  ASSERT_TRUE(rig.run());
  ASSERT_TRUE(rig.result);
  EXPECT_EQ(rig.lost(), positions_at(rig, bad.file, at));
  EXPECT_EQ(rig.lost().size(), 1U);
  EXPECT_EQ(rig.reader->readiness().failures()[0].error, EIO);
  EXPECT_EQ(rig.delivered(), rig.plan.order.size() - 1);
  EXPECT_EQ(rig.wrong_bytes(), "");
}

TEST(Reader, OneBadBlockOfAMergedDeviceReadCostsOneSample) {
  ReaderRig rig({.data = {.files = 200},
                 .order = Order::lba,
                 .merge = {.merge = Merge::device, .horizon = {1 << 20}, .share = {0}},
                 .shuffle = {.batch = 9}});
  ASSERT_LT(rig.plan.reads.size(), rig.plan.pieces.size() / 4) << "nothing was merged";
  const std::uint32_t file = rig.catalog.sample(rig.plan.order[50]).file;
  const std::uint64_t at = rig.catalog.extents_of(file)[0].device_offset;
  rig.engine.outcome = [&](const Asked& a) { return touches(a, kFromDevice, at) ? -EIO : all(a); };
  ASSERT_TRUE(rig.run());
  ASSERT_TRUE(rig.result);
  EXPECT_EQ(rig.lost(), positions_at(rig, file, 0));
  EXPECT_EQ(rig.delivered(), rig.plan.order.size() - 1);
  EXPECT_EQ(rig.wrong_bytes(), "");
}

// A file that shrank after the scan: its sample is lost, with errno 0, and nothing else.
TEST(Reader, LosesOnlyTheFileThatEndsEarly) {
  for (const std::uint32_t align : {1U, 512U, 4096U}) {
    for (const std::uint64_t size : {0U, 1U, 4096U, 5000U}) {
      ReaderRig rig({.data = {.files = 60}, .merge = {.align = align}, .shuffle = {.batch = 4}});
      const auto longest = std::ranges::max_element(rig.catalog.files, {}, &FileRecord::size);
      ASSERT_GT(longest->size, 10000U);
      const auto file = static_cast<std::uint32_t>(longest - rig.catalog.files.begin());
      rig.engine.shorter[file] = size;
      ASSERT_TRUE(rig.run());
      EXPECT_EQ(rig.lost(), positions_at(rig, file, 0));
      EXPECT_EQ(rig.reader->readiness().failures().at(0).error, 0);
      EXPECT_EQ(rig.delivered(), rig.plan.order.size() - 1);
      EXPECT_LT(rig.engine.groups.size(), 150U) << "asked again too often";
    }
  }
}

TEST(Reader, GivesUpAReadThatMakesNoProgress) {
  for (const int result : {-EAGAIN, -EINTR, 0}) {
    for (const Merge merge : {Merge::file, Merge::device}) {
      ReaderRig rig({.data = {.files = 50, .extents_per_file = 3},
                     .order = Order::lba,
                     .merge = {.merge = merge, .horizon = {1 << 20}, .share = {0}},
                     .shuffle = {.batch = 4}});
      const auto longest = std::ranges::max_element(rig.catalog.files, {}, &FileRecord::size);
      const auto file = static_cast<std::uint32_t>(longest - rig.catalog.files.begin());
      const std::uint64_t at = rig.catalog.extents_of(file)[0].device_offset;
      rig.engine.outcome = [&](const Asked& a) {
        return touches(a, file, 0) || touches(a, kFromDevice, at) ? result : all(a);
      };
      ASSERT_TRUE(rig.run());
      ASSERT_TRUE(rig.result);
      EXPECT_EQ(rig.lost(), positions_at(rig, file, 0));
      EXPECT_EQ(rig.wrong_bytes(), "");
      const int wanted = result == 0 && merge == Merge::device ? EIO : -result;
      EXPECT_EQ(rig.reader->readiness().failures().at(0).error, wanted);
    }
  }
}

// Progress in small steps is progress, however many steps it takes.
TEST(Reader, GoesOnAsLongAsThereIsProgress) {
  ReaderRig rig({.data = {.files = 3, .mean_bytes = 6000000},
                 .merge = {.max = {16 << 20}, .align = 512},
                 .shuffle = {.window = {32 << 20}, .batch = 4}});
  rig.engine.outcome = [](const Asked&) { return 512; };
  ASSERT_TRUE(rig.run());
  expect_everything(rig);
  EXPECT_GT(rig.reader->counts().short_reads, 1000U);
}

// Reads of several pieces whose files are gone, in front of a gate: what has failed must be settled
// before the gate can ever open.
TEST(Reader, MissingFilesInFrontOfAGateDoNotHang) {
  for (const unsigned openers : {0U, 2U}) {
    ReaderRig rig({.data = {.files = 12,
                            .mean_bytes = 100000,
                            .parts_per_file = 20,
                            .part_stride = 4096,
                            .part_bytes = 4096},
                   .order = Order::path,
                   .merge = {.merge = Merge::file, .horizon = {1 << 20}, .share = {0}},
                   .shuffle = {.window = {200000}, .batch = 5, .prefetch = 0},
                   .slots = {.slots = 4, .direct = false, .openers = openers, .ahead = 2}});
    ASSERT_FALSE(rig.schedule.gates.empty());
    std::size_t gone = 0;
    for (std::uint32_t f = 0; f < rig.catalog.files.size(); f += 2) {
      std::filesystem::remove(rig.dir.path(rig.catalog.path(f)));
    }
    for (const std::uint32_t s : rig.plan.order) {
      gone += rig.catalog.sample(s).file % 2 == 0 ? 1 : 0;
    }
    ASSERT_TRUE(rig.run()) << "hangs";
    EXPECT_EQ(rig.lost().size(), gone);
    EXPECT_EQ(rig.delivered(), rig.plan.order.size() - gone);
    for (const ReadFailure& f : rig.reader->readiness().failures()) {
      EXPECT_EQ(f.error, ENOENT);
    }
  }
}

TEST(Reader, NoReadPassesItsGate) {
  for (const std::uint32_t prefetch : {0U, 1U, 3U}) {
    ReaderRig rig({.data = {.files = 300},
                   .order = Order::lba,
                   .merge = {.merge = Merge::device, .max = {32768}, .horizon = {65536}},
                   .shuffle = {.window = {200000}, .batch = 8, .prefetch = prefetch}});
    ASSERT_GT(rig.schedule.gates.size(), 10U);
    std::uint32_t read = 0;
    std::size_t gate = 0, early = 0;
    rig.engine.on_submit = [&](const Asked&) {
      while (rig.plan.reads[read].source == kZeros) {
        ++read;
      }
      while (gate < rig.schedule.gates.size() && rig.schedule.gates[gate].read <= read) {
        early += rig.handoff.consumed.value() < rig.schedule.gates[gate++].consumed_batches;
      }
      ++read;
    };
    ASSERT_TRUE(rig.run());
    EXPECT_EQ(early, 0U);
    EXPECT_EQ(gate, rig.schedule.gates.size());
    expect_everything(rig);
  }
}

TEST(Reader, MergeKernelSubmitsWholeGroups) {
  ReaderRig rig({.data = {.files = 400},
                 .order = Order::lba,
                 .merge = {.merge = Merge::kernel, .batch = 6},
                 .shuffle = {.window = {64 << 20}, .batch = 400},
                 .depth = 12,
                 .slots = {.slots = 500, .direct = false, .openers = 0, .pending = 500}});
  ASSERT_EQ(rig.plan.submit_batch, 6U);
  ASSERT_TRUE(rig.run());
  expect_everything(rig);
  const auto small = std::ranges::count_if(rig.engine.groups, [](auto n) { return n < 6; });
  EXPECT_LE(small, 1) << "only the last group may be smaller";
}

// More than a refill may have completed; what the device sees must not depend on it.
TEST(Reader, RefillsInGroupsOfTheSizeThatWasAsked) {
  ReaderRig rig({.data = {.files = 200},
                 .order = Order::lba,
                 .merge = {},
                 .shuffle = {.window = {64 << 20}, .batch = 200},
                 .depth = 12,
                 .refill = 4,
                 .slots = {.slots = 500, .direct = false, .openers = 0, .pending = 500}});
  ASSERT_TRUE(rig.run());
  expect_everything(rig);
  std::vector<std::size_t> wanted(1, 12);
  wanted.resize(1 + (rig.plan.reads.size() - 12) / 4, 4);
  if (const std::size_t rest = (rig.plan.reads.size() - 12) % 4; rest > 0) {
    wanted.push_back(rest);
  }
  EXPECT_EQ(rig.engine.groups, wanted);
}

TEST(Reader, StopEndsWithNothingInFlight) {
  for (const std::size_t after : {0U, 1U, 20U, 60U}) {
    ReaderRig rig({.data = {.files = 200}, .merge = {}, .shuffle = {.batch = 4}});
    std::size_t submitted = 0;
    rig.engine.on_submit = [&](const Asked&) {
      if (++submitted == after) {
        rig.stop.store(true);
      }
    };
    rig.stop.store(after == 0);
    ASSERT_TRUE(rig.run());
    EXPECT_TRUE(rig.result);
    EXPECT_EQ(rig.engine.in_flight(), 0U);
    EXPECT_LT(rig.delivered(), rig.plan.order.size());
    EXPECT_LE(submitted, after + rig.settings.depth) << "went on after the stop";
  }
}

// Of healthy reads in the plan's order: where each group that the engine was given begins.
TEST(Reader, TellsWhichReadsBeganASubmission) {
  for (const std::uint32_t depth : {1U, 8U}) {
    ReaderRig rig(
        {.data = {.files = 60}, .merge = {.merge = Merge::none}, .shuffle = {}, .depth = depth});
    ASSERT_TRUE(rig.run());
    expect_everything(rig);
    std::vector<std::uint32_t> begins;
    std::uint32_t next = 0;
    for (const std::size_t reads : rig.engine.groups) {
      begins.push_back(next);
      next += static_cast<std::uint32_t>(reads);
    }
    EXPECT_EQ(next, rig.plan.reads.size());
    EXPECT_EQ(rig.reader->submissions(), begins);
  }
}

}  // namespace
}  // namespace blksweep
