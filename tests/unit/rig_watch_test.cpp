// Whether the runs were of what they were meant to be: broken rigs, each found by what it leaves in
// the runs.
#include <gtest/gtest.h>

#include <utility>

#include "support/rig_session.h"

namespace blksweep {
namespace {

TEST(RigWatch, FindsDataLeftInTheCache) {
  expect_rig_line(rig_session(2, 1, [](RunRecord& r, std::int64_t) { r.resident_before = 0.9; }),
                  "BROKEN RIG: data left in the cache: 8 of 8 cold runs began with 90 %");
  expect_rig_line(rig_session(2, 1, [](RunRecord& r, std::int64_t) { r.device_bytes = 1 << 20; }),
                  "BROKEN RIG: data left in the cache: in 8 of 8 runs the disk read 3 %");
}

TEST(RigWatch, FindsTheMapOfAnotherDisk) {
  expect_rig_line(rig_session(2, 1, [](RunRecord& r, std::int64_t) { r.probe->in_plan = 0.1; }),
                  "BROKEN RIG: the map of addresses is not that of this disk: in 8 of 8");
  expect_rig_line(rig_session(2, 1, [](RunRecord& r, std::int64_t) { r.probe->plan_order = 0.02; }),
                  "BROKEN RIG: the map of addresses");
  expect_rig_line(rig_session(6, 1, [](RunRecord& r, std::int64_t) { r.probe.reset(); }),
                  "controls passed");  // unknown is no finding
}

TEST(RigWatch, FindsAddressesThatAreNotTheMediums) {
  expect_rig_line(rig_session(6, 1,
                              [](RunRecord& r, std::int64_t id) {
                                r.epoch_ns *= id == kLba || id == kReverse ? 5 : 1;
                              }),
                  "CONTROL reverse FAILED: neither address order nor its reverse");
}

TEST(RigWatch, FindsADiskThatAnswersFromMemory) {
  const RunChange fast = [](RunRecord& r, std::int64_t id) {
    r.prediction.emplace();
    r.prediction->model = "hdd-7200";
    r.prediction->error = id == kSame ? 4.0 : 0.0;  // 20 % of the time that its model needs
  };
  expect_rig_line(rig_session(2, 1, fast),
                  "BROKEN RIG: the disk answers from memory: 2 of 2 runs of a/a");
  SummaryInput hardware = rig_session(2, 1, fast);
  hardware.hosts[""].layers = {{"sda", "kind", "hardware"}};  // a model there is a question
  expect_rig_line(hardware, "controls not judged yet");
  for (StoredRun& r : hardware.runs) {
    r.run.device_reads = 5000;
  }
  expect_rig_line(hardware, "BROKEN RIG: the disk answers from memory: 5,");
  for (const auto& [reads, line] : {std::pair{1500U, "controls not judged yet"},
                                    {1501U, "BROKEN RIG: the disk answers from memory: 1,501"}}) {
    for (StoredRun& r : hardware.runs) {
      r.run.device_reads = reads;
      r.run.epoch_ns = 1'000'000'000;  // as many in a second
    }
    expect_rig_line(hardware, line);
  }
  hardware.hosts[""].layers = {{"vda", "kind", "virtual"}};  // says that it rotates, as they do
  expect_rig_line(hardware, "controls not judged yet");
}

TEST(RigWatch, WhereOthersReadTheirRequestsSayNothingOfTheMap) {
  const RunChange others = [](RunRecord& r, std::int64_t) {
    r.others_read_bytes = 16 << 20;
    r.probe->in_plan = 0.87;
    r.probe->plan_order = 0.34;
  };
  expect_rig_line(rig_session(2, 1, others), "BROKEN RIG: somebody else reads the disk");
}

TEST(RigWatch, FindsASecondReader) {
  expect_rig_line(
      rig_session(2, 1, [](RunRecord& r, std::int64_t) { r.others_read_bytes = 16 << 20; }),
      "BROKEN RIG: somebody else reads the disk: in 8 of 8 runs, 50 %");
}

TEST(RigWatch, ADiskIsTooFastWhereMoreThanHalfOfACellsRunsAre) {
  const auto fast_in = [](std::uint32_t rounds) {
    return rig_session(4, 1, [&](RunRecord& r, std::int64_t id) {
      r.prediction.emplace();
      r.prediction->model = "hdd-7200";
      r.prediction->error = id == kSame && r.repeat < rounds ? 4.0 : 0.0;
    });
  };
  expect_rig_line(fast_in(2), "controls not judged yet");
  expect_rig_line(fast_in(3),
                  "BROKEN RIG: the disk answers from memory: 3 of 4 runs of a/a took less than 70 "
                  "% of the time that its model hdd-7200 needs for their reads (median 20 %)");
}

TEST(RigWatch, WhatADrivesOwnBufferMayHaveHadSaysNothing) {
  const auto of_bytes = [](std::uint64_t bytes) {
    return rig_session(2, 1, [&](RunRecord& r, std::int64_t) {
      r.prediction.emplace();
      r.prediction->error = 4.0;
      r.bytes = bytes;
    });
  };
  expect_rig_line(of_bytes((16 << 20) - 1), "controls not judged yet");
  expect_rig_line(of_bytes(16 << 20), "BROKEN RIG: the disk answers from memory");
}

}  // namespace
}  // namespace blksweep
