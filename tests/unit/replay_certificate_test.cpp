#include "replay/certificate.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <string>
#include <thread>

#include "replay/driver_watch.h"

namespace blksweep {
namespace {

constexpr std::int64_t kMs = 1'000'000;

// A request each millisecond; `late` of each hundred are issued 3 ms late, with room since `room`
// after they were due.
Certificate certificate_of(int late, std::int64_t room, std::int64_t quantum = 1,
                           std::int64_t stalled = 0, double own_rate = 1e6) {
  ReplayRecord record(true);
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t due = i * kMs;
    ReplayRequest r{.due_ns = due,
                    .recorded_ns = due,
                    .latency_ns = kMs / 2,
                    .number = static_cast<std::uint64_t>(i),
                    .bytes = 4096};
    const bool is_late = i % 100 < late;
    record.issued(r, {due, is_late ? due + room : 0, due + (is_late ? 3 * kMs : 1000)});
    record.completed(r, {r.bytes, kMs, due + 2 * kMs});
  }
  return record.certify({.quantum_ns = quantum, .stalled_ns = stalled, .own_rate = own_rate});
}

TEST(ReplayCertificate, OnTimeIsFaithful) {
  const Certificate c = certificate_of(0, 0);
  EXPECT_EQ(c.verdict, Verdict::faithful);
  EXPECT_TRUE(c.reasons.empty());
  EXPECT_EQ(c.issued, 1000U);
  EXPECT_EQ(c.lateness.greatest, 1000);
  EXPECT_NEAR(*c.latency_error, 1.0, 0.01);  // twice as long as recorded
  EXPECT_NEAR(*c.rate_error, 0, 0.001);
}

// The only reason that a certificate gives.
void expect_reason(const Certificate& c, const std::string& text) {
  ASSERT_EQ(c.reasons.size(), 1U);
  EXPECT_NE(c.reasons[0].find(text), std::string::npos) << c.reasons[0];
}

TEST(ReplayCertificate, ReasonsSayHowMuchOfAll) {
  for (const int late : {2, 7, 50}) {
    expect_reason(certificate_of(late, 0), fmt::format("issued {}.0 % of the requests", late));
    expect_reason(certificate_of(late, 3 * kMs - 500),
                  fmt::format("was full when {}.0 % of the requests", late));
  }
  expect_reason(certificate_of(0, 0, 1, 200 * kMs), "stood still for 20.0 % of the time");
}

TEST(ReplayCertificate, LateWithRoomIsTheTool) {
  const Certificate c = certificate_of(2, 0);
  EXPECT_EQ(c.verdict, Verdict::unfaithful);
  EXPECT_EQ(c.tool.greatest, 3 * kMs);
  EXPECT_EQ(c.device.greatest, 0);
  EXPECT_EQ(certificate_of(1, 0).verdict, Verdict::faithful);  // 1 % may be
}

TEST(ReplayCertificate, LateWithAFullQueueIsTheDevice) {
  const Certificate c = certificate_of(2, 3 * kMs - 500);
  EXPECT_EQ(c.verdict, Verdict::held_back);
  EXPECT_EQ(c.tool.greatest, 1000);  // of those that were not held back
}

TEST(ReplayCertificate, BothIsTheTool) {
  EXPECT_EQ(certificate_of(50, 3 * kMs / 2).verdict, Verdict::unfaithful);
}

TEST(ReplayCertificate, StandingStillIsTheTool) {
  EXPECT_EQ(certificate_of(0, 0, 1, 20 * kMs).verdict, Verdict::unfaithful);
  EXPECT_EQ(certificate_of(0, 0, 1, 5 * kMs).verdict, Verdict::faithful);
}

TEST(ReplayCertificate, NobodyIsOnTimeBelowTheStepsOfTheClock) {
  EXPECT_EQ(certificate_of(50, 0, 5 * kMs).verdict, Verdict::faithful);
  EXPECT_EQ(certificate_of(50, 0, 5 * kMs).bound_ns, 5 * kMs);
}

// To the nanosecond where a bucket of the histogram begins there.
TEST(ReplayCertificate, WhatIsBelowTheBoundIsOnTimeAndWhatReachesItIsLate) {
  constexpr std::int64_t kBound = 1 << 23;
  for (const std::int64_t late : {kBound - 1, kBound}) {
    ReplayRecord record(true);
    record.issued({.bytes = 4096}, {0, 0, late});
    const bool reaches = late == kBound;
    EXPECT_EQ(record.certify({.quantum_ns = kBound}).verdict,
              reaches ? Verdict::unfaithful : Verdict::faithful)
        << late;
  }
}

TEST(ReplayCertificate, WritesThatCompletedAreCounted) {
  ReplayRecord record(true);
  for (int i = 0; i < 10; ++i) {
    record.completed({.bytes = 4096, .write = i % 3 == 0}, {.bytes = 4096});
  }
  EXPECT_EQ(record.writes(), 4U);
}

TEST(ReplayCertificate, NothingHasNoDepthNoRateAndNoErrors) {
  for (const bool timed : {true, false}) {
    const Certificate c = ReplayRecord(timed).certify({});
    EXPECT_EQ(c.depth_mean, 0);
    EXPECT_EQ(c.peak_rate, 0);
    EXPECT_EQ(c.length_ns, 0);
    EXPECT_FALSE(c.rate_error || c.gap_error || c.latency_error || c.depth_error || c.free_share);
    EXPECT_EQ(c.verdict, Verdict::faithful);
    EXPECT_TRUE(c.reasons.empty());
  }
}

TEST(ReplayCertificate, MoreThanHalfOfWhatTheToolCanDoIsNotFaithful) {
  EXPECT_EQ(certificate_of(0, 0, 1, 0, 1900).verdict, Verdict::unfaithful);
  EXPECT_EQ(certificate_of(0, 0, 1, 0, 2100).verdict, Verdict::faithful);
}

TEST(ReplayCertificate, APartOfTheTraceIsNoReplayOfIt) {
  ReplayRecord record(true);
  for (int i = 0; i < 1000; ++i) {
    record.issued({}, {});
  }
  EXPECT_EQ(record.certify({.misplaced = 10}).verdict, Verdict::faithful);
  EXPECT_EQ(record.certify({.misplaced = 11}).verdict, Verdict::unfaithful);
  for (int i = 0; i < 5; ++i) {
    record.failed();
  }
  EXPECT_EQ(record.certify({.misplaced = 5}).verdict, Verdict::faithful);
  EXPECT_EQ(record.certify({.misplaced = 6}).verdict, Verdict::unfaithful) << "they add up";
  EXPECT_EQ(record.certify({.misplaced = 3, .short_reads = 3}).verdict, Verdict::unfaithful);
  for (int i = 0; i < 6; ++i) {
    record.failed();
  }
  EXPECT_EQ(record.certify({}).verdict, Verdict::unfaithful);
}

TEST(ReplayCertificate, ReadsThatGaveTooLittleAreMissing) {
  ReplayRecord record(true);
  for (int i = 0; i < 1000; ++i) {
    record.issued({.bytes = 4096}, {});
    record.completed({.bytes = 4096}, {.bytes = 1});
  }
  EXPECT_EQ(record.bytes(), 1000U);
  EXPECT_EQ(record.certify({.short_reads = 10}).verdict, Verdict::faithful);
  EXPECT_EQ(record.certify({.short_reads = 11}).verdict, Verdict::unfaithful);
}

TEST(ReplayCertificate, TheRecordedDepthIsTheTracesAtAnySpeed) {
  for (const std::int64_t speed : {1, 2, 10}) {
    ReplayRecord record(true, static_cast<double>(speed));
    for (std::int64_t i = 0; i < 1000; ++i) {  // always one in flight
      const ReplayRequest r{.recorded_ns = i * kMs / speed, .latency_ns = kMs, .bytes = 4096};
      record.issued(r, {r.recorded_ns, 0, r.recorded_ns});
      record.completed(r, {r.bytes, kMs, r.recorded_ns + kMs});
    }
    EXPECT_NEAR(*record.certify({}).recorded_depth_mean, 1, 1e-9) << speed;
  }
}

// As many as the depth are always wanted. The device needs 100 us, the tool `ours` to fill a place.
Certificate as_fast_as(unsigned depth, std::int64_t ours) {
  ReplayRecord record(false);
  const std::int64_t device = 100'000;
  for (std::int64_t round = 0; round < 100; ++round) {
    const std::int64_t room = round * (device + ours);
    for (unsigned slot = 0; slot < depth; ++slot) {
      record.issued({.bytes = 4096}, {room, room, room + ours});
      record.completed({.bytes = 4096}, {4096, device, room + ours + device});
    }
  }
  return record.certify({.own_rate = 1e9, .depth = depth});
}

TEST(ReplayCertificate, WhoSetsThePaceAsFastAsPossibleIsTold) {
  for (const unsigned depth : {1U, 32U}) {
    EXPECT_EQ(as_fast_as(depth, 10'000).verdict, Verdict::faithful);
    EXPECT_NEAR(*as_fast_as(depth, 10'000).free_share, 1 / 11.0, 1e-6);
    const Certificate slow = as_fast_as(depth, 15'000);  // never late by more than the bound
    EXPECT_EQ(slow.verdict, Verdict::unfaithful);
    ASSERT_EQ(slow.reasons.size(), 1U);
    EXPECT_NE(slow.reasons[0].find("the tool set the pace"), std::string::npos);
  }
  EXPECT_FALSE(certificate_of(0, 0).free_share) << "nothing waits before its time";
}

TEST(ReplayCertificate, OrderThatIsNotKeptIsCounted) {
  ReplayRecord record(false);
  for (const std::uint64_t number : {0U, 2U, 1U, 3U}) {
    record.issued({.number = number}, {});
  }
  EXPECT_EQ(record.certify({}).out_of_order, 1U);
}

TEST(DriverLateness, MatchesByAddressAndLengthTheOldestFirstFromTheLeastLate) {
  const std::array issues{DriverIssue{1'000, 0, 4096}, DriverIssue{1'700, 8192, 4096},
                          DriverIssue{2'050, 0, 4096}, DriverIssue{2'100, 4096, 8192}};
  const std::array reads{DueRead{100, 0, 4096}, DueRead{900, 8192, 4096}, DueRead{1'100, 0, 4096},
                         DueRead{1'200, 0, 4096},      // a third time: merged with another
                         DueRead{1'300, 4096, 4096}};  // as long as none
  const DriverLateness found = lateness_of(issues, reads);
  EXPECT_EQ(found.matched, 3U);
  EXPECT_EQ(found.missing, 2U);
  ASSERT_TRUE(found.lateness);
  EXPECT_EQ(found.lateness->greatest, 150) << "900, 800 and 950 behind, of which the first 800";
  EXPECT_EQ(found.lateness->p50, 100);
  EXPECT_EQ(lateness_of(issues, {}).matched, 0U);
  EXPECT_FALSE(lateness_of({}, reads).lateness) << "of none found it is unknown, not 0";
}

struct CountedRecorder final : Recorder {
  Result<> start() override { return {}; }
  Result<> drain() override {
    drained_stopped = stopped.load();
    return ++drains == fails ? Result<>(fail("lost")) : Result<>();
  }
  void stop() override { stopped = true; }
  std::uint64_t lost() const override { return 0; }
  std::atomic<int> drains{0};
  int fails = 0;  // the how maniest
  std::atomic<bool> stopped{false}, drained_stopped{false};
};

TEST(RingDrain, EmptiesTheRingMoreThanOnceAndAtTheEnd) {
  CountedRecorder recorder;
  RingDrain drain(recorder);
  for (int i = 0; i < 3'000 && recorder.drains < 2; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_GE(recorder.drains, 2);
  EXPECT_LT(recorder.drains, 1'000) << "it rests in between";
  EXPECT_FALSE(recorder.stopped);
  EXPECT_TRUE(drain.end());
  EXPECT_TRUE(recorder.drained_stopped) << "what came last";
}

TEST(RingDrain, SaysWhatFailedBefore) {
  CountedRecorder recorder;
  recorder.fails = 1;
  RingDrain drain(recorder);
  while (recorder.drains < 1) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_FALSE(drain.end());
}

}  // namespace
}  // namespace blksweep
