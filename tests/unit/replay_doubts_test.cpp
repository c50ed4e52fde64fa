// What is said of a replay beside its verdict, and where nothing is.
#include "replay/doubts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>

namespace blksweep {
namespace {

struct DoubtsRig {
  TraceFacts facts;
  TraceSurvey survey;
  ReplaySettings settings;
  ReplayReport report;
  std::uint64_t partition_start = 0;

  DoubtsRig() {  // a healthy one of a device
    facts.quantum_ns = 1000;
    settings.device = "/dev/d";
    report.requests = 1000;
    report.bytes = 4 << 20;
    report.own_read_bytes = 4 << 20;
    report.others_read_bytes = 0;
  }
  bool says(const std::string& text) const {
    const auto all = doubts_of(report, {facts, survey, settings, partition_start});
    return std::ranges::any_of(
        all, [&](const std::string& line) { return line.find(text) != std::string::npos; });
  }
  std::size_t count() const {
    return doubts_of(report, {facts, survey, settings, partition_start}).size();
  }
};

// Of a healthy rig with one change nothing else is said either.
void expect_only(const std::string& text, const std::function<void(DoubtsRig&)>& change) {
  DoubtsRig rig;
  change(rig);
  EXPECT_TRUE(rig.says(text)) << text;
  EXPECT_EQ(rig.count(), 1U) << text;
}
void expect_nothing(const char* where, const std::function<void(DoubtsRig&)>& change) {
  DoubtsRig rig;
  change(rig);
  EXPECT_EQ(rig.count(), 0U) << where;
}

TEST(ReplayDoubts, OfAHealthyReplayNothingIsSaid) {
  expect_nothing("healthy", [](DoubtsRig&) {});
}

TEST(ReplayDoubts, ACoarseClockIsSaidWhereItCounts) {
  expect_only("steps of 1 s:", [](DoubtsRig& r) { r.facts.quantum_ns = 1'000'000'000; });
  expect_only("steps of 10 ms at this speed", [](DoubtsRig& r) {
    r.facts.quantum_ns = 1'000'000'000;
    r.settings.speed = 100;
  });
  expect_nothing("a step of the bound", [](DoubtsRig& r) { r.facts.quantum_ns = kLateBound; });
  expect_nothing("no time counts", [](DoubtsRig& r) {
    r.facts.quantum_ns = 1'000'000'000;
    r.settings.timing = Timing::asap;
  });
}

TEST(ReplayDoubts, VolumesThatLieOverOneAnother) {
  const auto two = [](DoubtsRig& r) { r.survey.ends = {4096, 0, 8192}; };
  expect_only("2 volumes of the trace lie over one another", two);
  expect_nothing("kept apart", [&](DoubtsRig& r) {
    two(r);
    r.settings.addresses = AddressMode::stack;
  });
  expect_nothing("one of them has no request", [](DoubtsRig& r) { r.survey.ends = {4096, 0, 0}; });
}

TEST(ReplayDoubts, AddressesOfADiskOnAPartition) {
  for (const char* format : {"recorded", "blktrace", "blkparse"}) {
    expect_only("each request lies 1 MiB further on its disk than recorded", [&](DoubtsRig& r) {
      r.facts.format = format;
      r.partition_start = 1 << 20;
    });
  }
  expect_only("1 MiB further on its disk than its address modulo the partition's size",
              [](DoubtsRig& r) {  // "than recorded" would be true of the first addresses alone
                r.facts.format = "recorded";
                r.partition_start = 1 << 20;
                r.settings.addresses = AddressMode::wrap;
              });
  expect_nothing("of volumes", [](DoubtsRig& r) {
    r.facts.format = "msr";
    r.partition_start = 1 << 20;
  });
  for (const AddressMode mode : {AddressMode::scale, AddressMode::stack}) {
    expect_nothing("moved anyway", [&](DoubtsRig& r) {
      r.facts.format = "recorded";
      r.partition_start = 1 << 20;
      r.settings.addresses = mode;
    });
  }
}

TEST(ReplayDoubts, RequestsThatWereRoundedIfTheyAreNotFew) {
  expect_only("11 of 1,000 requests were rounded", [](DoubtsRig& r) { r.report.rounded = 11; });
  expect_nothing("few", [](DoubtsRig& r) { r.report.rounded = 10; });
}

TEST(ReplayDoubts, WhatCameFromMemory) {
  expect_only("2 MiB of the 4 MiB were read from a disk",
              [](DoubtsRig& r) { r.report.own_read_bytes = 2 << 20; });
  expect_nothing("almost all", [](DoubtsRig& r) { *r.report.own_read_bytes -= 200'000; });
  expect_nothing("what is written needs no read", [](DoubtsRig& r) {
    r.report.own_read_bytes = 0;
    r.report.writes = 1;
  });
  expect_only("is memory: no read of it needs a medium", [](DoubtsRig& r) {
    r.settings.device.clear();
    r.settings.folder = "/dev/shm";
    r.report.others_read_bytes.reset();  // where there is no disk nobody reads it
  });
}

// However the folder is named, also as the place of the mount itself.
TEST(ReplayDoubts, MemoryIsKnownByWhatTheFolderIs) {
  const std::filesystem::path before = std::filesystem::current_path();
  for (const char* name : {"/dev/shm", "/dev/shm/", "/dev/shm/../shm", "shm", "./shm"}) {
    DoubtsRig rig;
    rig.settings.device.clear();
    rig.settings.folder = name;
    std::filesystem::current_path("/dev");
    EXPECT_TRUE(rig.says("is memory: no read of it needs a medium")) << name;
    std::filesystem::current_path(before);
  }
}

TEST(ReplayDoubts, SayWhereOthersReadForUs) {
  const auto unknown = [](DoubtsRig& r) {
    r.report.own_read_bytes.reset();
    r.report.others_read_bytes.reset();
  };
  expect_only("was read from a disk is not known: /proc is on proc", [&](DoubtsRig& r) {
    unknown(r);
    r.settings.device.clear();
    r.settings.folder = "/proc";
  });
  expect_nothing("a device, of which nothing was counted", unknown);
}

TEST(ReplayDoubts, SayWhereWhoElseReadIsNotKnown) {
  expect_only("who else read the disk is not known: this process read 4 MiB",
              [](DoubtsRig& r) { r.report.others_read_bytes.reset(); });
  DoubtsRig nothing;
  nothing.report.own_read_bytes.reset();
  nothing.report.others_read_bytes.reset();
  EXPECT_FALSE(nothing.says("who else")) << "nothing is known at all";
}

}  // namespace
}  // namespace blksweep
