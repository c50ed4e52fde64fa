// The arithmetic between the probe's maps and its report.
#include "probe/probe_math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <memory>

#include "probe/disk_queue.h"

namespace blksweep {
namespace {

// The kernel side of the thinned log, as in block_probe.bpf.c.
std::int64_t log_entry(std::uint64_t n, unsigned bits) {
  if ((n >> bits) == 0) {
    return static_cast<std::int64_t>(n);
  }
  const auto k = static_cast<unsigned>(std::bit_width(n >> bits));
  if (k >= bits || (n & ((std::uint64_t{1} << k) - 1)) != 0) {
    return -1;
  }
  const std::uint64_t m = n >> k;
  return static_cast<std::int64_t>(((m << k) | (m >> (bits - k))) &
                                   ((std::uint64_t{1} << bits) - 1));
}

class ThinnedLog : public testing::TestWithParam<std::uint64_t> {};

TEST_P(ThinnedLog, HoldsEvenlySpacedEventsInOrder) {
  constexpr unsigned kBits = 5;
  std::map<std::uint32_t, std::uint64_t> log;
  for (std::uint64_t n = 0; n < GetParam(); ++n) {
    if (const std::int64_t entry = log_entry(n, kBits); entry >= 0) {
      log[static_cast<std::uint32_t>(entry)] = n;
    }
  }
  const auto entries = log_entries(GetParam(), kBits);
  EXPECT_LE(entries.size(), 32u);
  EXPECT_GE(entries.size(), std::min<std::uint64_t>(GetParam(), 17));
  const std::uint64_t stride = entries.size() < 2 ? 1 : log[entries[1]];
  EXPECT_TRUE(std::has_single_bit(stride));
  for (std::size_t i = 0; i < entries.size(); ++i) {
    ASSERT_EQ(log.at(entries[i]), i * stride);
  }
}

// Of what is read in parts each part has what is new.
TEST_P(ThinnedLog, CanBeReadFromAnyNumberOn) {
  constexpr unsigned kBits = 5;
  const auto all = log_entries(GetParam(), kBits);
  const std::uint64_t stride = std::uint64_t{1} << std::bit_width((GetParam() - 1) >> kBits);
  for (std::uint64_t from = 0; from <= GetParam(); ++from) {
    const std::uint64_t before = (from + stride - 1) / stride;
    const auto rest = log_entries(GetParam(), kBits, from);
    ASSERT_TRUE(std::ranges::equal(rest, std::span(all).subspan(std::min(before, all.size()))))
        << from;
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, ThinnedLog,
                         testing::Values(1, 2, 31, 32, 33, 34, 63, 64, 65, 66, 100, 127, 128, 129,
                                         257, 300, 500));

TEST(ThinnedLog, IsEmptyWhenNothingWasSeen) { EXPECT_TRUE(log_entries(0, 5).empty()); }

TEST(LatencyBuckets, FollowEachOtherWithoutGaps) {
  for (std::uint32_t i = 0; i + 1 < BLK_PROBE_LATENCIES; ++i) {
    const std::uint64_t lower = latency_lower_bound(i);
    ASSERT_EQ(lower + latency_bucket_width(lower), latency_lower_bound(i + 1)) << "bucket " << i;
  }
}

TEST(LatencyBuckets, AreAtMostAThirtySecondWide) {
  for (std::uint32_t i = 32; i < BLK_PROBE_LATENCIES; ++i) {
    const std::uint64_t lower = latency_lower_bound(i);
    ASSERT_LE(latency_bucket_width(lower) * 32, lower) << "bucket " << i;
  }
}

TEST(LatencyPercentile, IsTheMiddleOfItsBucket) {
  const ProbeBuckets buckets{{10, 50}, {64, 49}, {1024, 1}};
  EXPECT_EQ(latency_percentile(buckets, 0.5), 10.0);
  EXPECT_EQ(latency_percentile(buckets, 0.99), 64.5);
  EXPECT_EQ(latency_percentile(buckets, 1.0), 1024 + 15.5);
}

TEST(LatencyPercentile, IsUnknownWithoutReads) {
  EXPECT_EQ(latency_percentile({}, 0.5), std::nullopt);
  EXPECT_EQ(latency_mean({}), std::nullopt);
}

blk_probe_slot slot(std::uint32_t flags) { return {.issued_ns = 1, .flags = flags, .log = 0}; }

TEST(Settlement, HealsWhatTheKernelNoLongerHas) {
  const std::vector<blk_probe_slot> slots = {
      slot(0), slot(BLK_PROBE_ISSUED | BLK_PROBE_READ), slot(BLK_PROBE_ISSUED | BLK_PROBE_READ),
      slot(BLK_PROBE_ISSUED), slot(BLK_PROBE_INSERTED | BLK_PROBE_READ)};
  const Settlement s = settle(slots, {.reads = 1, .all = 2}, 1001);
  EXPECT_EQ(s.healed, 1u);
  EXPECT_EQ(s.healed_ns, 1000u);
  EXPECT_EQ(s.reads_in_flight, 1u);
}

TEST(Settlement, DoesNotHealRequestsThatAreStillInFlight) {
  const std::vector<blk_probe_slot> slots = {slot(BLK_PROBE_ISSUED | BLK_PROBE_READ)};
  const Settlement s = settle(slots, {.reads = 7, .all = 9}, 1001);
  EXPECT_EQ(s.healed, 0u);
  EXPECT_EQ(s.healed_ns, 0u);
  EXPECT_EQ(s.there_ns, 1000u);
  EXPECT_EQ(s.reads_in_flight, 1u);
}

// The kernel has ended it, and the probe is told at the second look.
TEST(CountsAtTheStop, WaitForWhatTheProbeIsAboutToBeTold) {
  std::vector<blk_probe_slot> slots = {slot(BLK_PROBE_ISSUED | BLK_PROBE_READ)};
  int looks = 0;
  const Result<KernelCounts> counts = counts_that_agree(slots, [&]() -> Result<KernelCounts> {
    slots[0].flags = ++looks == 2 ? 0 : slots[0].flags;
    return KernelCounts{};
  });
  ASSERT_TRUE(counts);
  EXPECT_EQ(looks, 2);
  EXPECT_EQ(settle(slots, counts->in_flight, 1001).healed, 0u);
}

TEST(CountsAtTheStop, DoNotWaitForEverForACompletionThatWasLost) {
  const std::vector<blk_probe_slot> slots = {slot(BLK_PROBE_ISSUED | BLK_PROBE_READ)};
  const auto counts =
      counts_that_agree(slots, []() -> Result<KernelCounts> { return KernelCounts{}; });
  ASSERT_TRUE(counts);
  EXPECT_EQ(settle(slots, counts->in_flight, 1001).healed, 1u);
}

TEST(CountsAtTheStop, AreNotKnownOfADiskThatIsGone) {
  const std::vector<blk_probe_slot> slots = {slot(BLK_PROBE_ISSUED | BLK_PROBE_READ)};
  const auto counts =
      counts_that_agree(slots, []() -> Result<KernelCounts> { return fail("gone"); });
  EXPECT_FALSE(counts);
}

TEST(StatDifference, LeavesOutWhatIsInFlightAtEitherEnd) {
  EXPECT_EQ(
      stat_difference({.requests = 100, .orphans = 3, .reads_in_flight = 5, .stat_reads = 98}),
      0.0);
  EXPECT_EQ(
      stat_difference({.requests = 99, .orphans = 0, .reads_in_flight = 0, .stat_reads = 100}),
      0.01);
}

TEST(StatDifference, IsUnknownWithoutReadsAndWholeWhenOnlyWeSawSome) {
  EXPECT_EQ(stat_difference({}), std::nullopt);
  EXPECT_EQ(stat_difference({.requests = 5, .orphans = 0, .reads_in_flight = 0, .stat_reads = 0}),
            1.0);
}

class Counts : public testing::Test {
 protected:
  std::vector<blk_probe_counts> cpus_ = std::vector<blk_probe_counts>(2);
  blk_probe_shared shared_{};
};

TEST_F(Counts, AreSummedOverCpus) {
  cpus_[0].reads = 3;
  cpus_[1].reads = 4;
  cpus_[0].sizes[1] = 3;
  cpus_[1].sizes[1] = 2;
  cpus_[1].sizes[32] = 2;
  shared_.request_merges = 5;
  cpus_[1].scheduler_merges = 6;
  const ProbeReport r = count_report(cpus_, shared_, 0);
  EXPECT_EQ(r.requests, 7u);
  EXPECT_EQ(r.scheduler_merges, 11u);
  EXPECT_EQ(r.request_bytes, (ProbeBuckets{{4096, 5}, {131072, 2}}));
}

TEST_F(Counts, GiveTheMeanDepthOverBusyTimeOnly) {
  cpus_[0].depth_ns = 600;
  shared_.busy_ns = 300;
  EXPECT_EQ(count_report(cpus_, shared_, 1'000'000).depth_mean, 2.0);
}

TEST_F(Counts, TheTimeOfAttemptsThatWereHandedBackIsTimeAtTheDriver) {
  cpus_[0].depth_ns = 600;
  cpus_[1].requeued_ns = 300;
  shared_.busy_ns = 300;
  const ProbeReport r = count_report(cpus_, shared_, 1'000'000);
  EXPECT_EQ(r.depth_ns, 900u);
  EXPECT_EQ(r.depth_mean, 3.0);
}

TEST_F(Counts, AreUnknownWhereTheirProgramsWereRefused) {
  cpus_[0].plug_merges = 1;
  cpus_[0].scheduler_merges = 2;
  shared_.request_merges = 3;
  shared_.requeues = 4;
  const ProbeReport all = count_report(cpus_, shared_, 0);
  EXPECT_EQ(all.plug_merges, 1u);
  EXPECT_EQ(all.scheduler_merges, 5u);
  EXPECT_EQ(all.requeues, 4u);
  const ProbeReport no_pairs = count_report(cpus_, shared_, 0, {.request_merges = false});
  EXPECT_EQ(no_pairs.plug_merges, 1u);
  EXPECT_EQ(no_pairs.scheduler_merges, std::nullopt);
  const ProbeReport none = count_report(
      cpus_, shared_, 0, {.bio_merges = false, .request_merges = false, .requeues = false});
  EXPECT_EQ(none.plug_merges, std::nullopt);
  EXPECT_EQ(none.scheduler_merges, std::nullopt);
  EXPECT_EQ(none.requeues, std::nullopt);
}

// One request of 1000 ns was lost sight of for 5 ns, or for longer than anything was there.
TEST_F(Counts, TheMeanDepthIsUnknownWhereLostCompletionsHideIt) {
  cpus_[0].depth_ns = 1000;
  shared_.busy_ns = 1000;
  shared_.healed = 1;
  shared_.healed_ns = 5;
  const ProbeReport little = count_report(cpus_, shared_, 0);
  EXPECT_EQ(little.depth_mean, 1.0);
  EXPECT_NEAR(*depth_uncertainty(little), 1005.0 / 995.0 - 1, 1e-9);
  shared_.healed_ns = 30;
  EXPECT_EQ(count_report(cpus_, shared_, 0).depth_mean, std::nullopt);
  shared_.healed_ns = 2000;
  EXPECT_EQ(count_report(cpus_, shared_, 0).depth_mean, std::nullopt);
}

TEST(SlotTable, HasRoomForTwiceTheTags) {
  EXPECT_EQ(slot_bits_for(0), 10u);
  EXPECT_EQ(slot_bits_for(512), 10u);
  EXPECT_EQ(slot_bits_for(513), 11u);
  EXPECT_EQ(slot_bits_for(2048), 12u);
}

TEST_F(Counts, CloseABusyTimeThatGoesOn) {
  shared_.busy_ns = std::uint64_t{0} - 1000;  // began at 1000, has no end yet
  shared_.driver_depth = 1;
  EXPECT_EQ(count_report(cpus_, shared_, 1500).busy_ns, 500u);
}

// The two words are of different moments: a request came in between, or went.
TEST_F(Counts, TakeABusyTimeForOneThatGoesOnByItsSumAlone) {
  shared_.busy_ns = 700;
  shared_.driver_depth = 1;
  EXPECT_EQ(count_report(cpus_, shared_, 1'000'000).busy_ns, 700u);
  shared_.busy_ns = std::uint64_t{0} - 1000;
  shared_.driver_depth = 0;
  EXPECT_EQ(count_report(cpus_, shared_, 1500).busy_ns, 500u);
  EXPECT_EQ(count_report(cpus_, shared_, 999).busy_ns, 0u);
}

// One since before the start, until 400 after it; one of ours for 100 of these, and for 200 later.
TEST_F(Counts, HaveTheTimeOfRequestsThatWereThereBeforeTheStart) {
  cpus_[0].depth_ns = 300;
  shared_.busy_ns = 300;
  shared_.orphan_ns = 400;
  shared_.orphan_busy_ns = 300;
  const ProbeReport r = count_report(cpus_, shared_, 1'000'000);
  EXPECT_EQ(r.busy_ns, 600u);
  EXPECT_EQ(r.depth_ns, 700u);
  EXPECT_EQ(r.orphan_ns, 400u);
}

TEST_F(Counts, TheMeanDepthHasTheTimeOfRequestsThatAreStillThere) {
  shared_.busy_ns = std::uint64_t{0} - 1000;
  const std::vector<blk_probe_slot> slots = {
      {.issued_ns = 1000, .flags = BLK_PROBE_ISSUED, .log = 0},
      {.issued_ns = 1500, .flags = BLK_PROBE_ISSUED | BLK_PROBE_READ, .log = 0},
      {.issued_ns = 7, .flags = BLK_PROBE_INSERTED, .log = 0}};
  ProbeReport r = count_report(cpus_, shared_, 2000);
  EXPECT_EQ(r.depth_mean, std::nullopt);
  add_time_there(r, time_there(slots, 2000));
  EXPECT_EQ(r.depth_mean, 1.5);
  EXPECT_EQ(time_there(slots, 2000, 1), 500u);
  EXPECT_EQ(time_there(slots, 900), 0u);
}

TEST_F(Counts, HaveNoMeanDepthWithoutRequests) {
  EXPECT_EQ(count_report(cpus_, shared_, 1000).depth_mean, std::nullopt);
}

// A report whose counts differ from each other and from those of another `scale`.
ProbeReport counted(std::uint64_t scale) {
  ProbeReport r;
  std::uint64_t n = 1;
  for (std::uint64_t* count :
       {&r.requests, &r.bytes, &r.seeks, &r.other_requests, &r.others.writes, &r.others.write_bytes,
        &r.others.flushes, &r.others.discards, &r.others.discard_bytes, &r.healed, &r.healed_ns,
        &r.lost_events, &r.driver_sum, &r.scheduler_sum, &r.ticks, &r.depth_ns, &r.busy_ns,
        &r.orphan_ns}) {
    *count = scale * n++;
  }
  for (auto* count :
       {&r.plug_merges, &r.scheduler_merges, &r.splits, &r.requeues, &r.punted, &r.programs_ns}) {
    *count = scale * n++;
  }
  for (ProbeBuckets* buckets : {&r.depth, &r.request_bytes, &r.latency_ns}) {
    *buckets = {{8, scale * n++}};
  }
  return r;
}

std::vector<std::uint64_t> counts_of(const ProbeReport& r) {
  std::vector<std::uint64_t> out{r.requests,       r.bytes,           r.seeks,
                                 r.other_requests, r.others.writes,   r.others.write_bytes,
                                 r.others.flushes, r.others.discards, r.others.discard_bytes,
                                 r.healed,         r.healed_ns,       r.lost_events,
                                 r.driver_sum,     r.scheduler_sum,   r.ticks,
                                 r.depth_ns,       r.busy_ns,         r.orphan_ns};
  for (const auto& count :
       {r.plug_merges, r.scheduler_merges, r.splits, r.requeues, r.punted, r.programs_ns}) {
    out.push_back(count.value_or(~0ULL));
  }
  return out;
}

TEST(Between, IsTheDifferenceOfEveryCount) {
  ProbeReport after = counted(7);
  after.driver_now = 3;
  after.scheduler_now = 5;
  const ProbeReport r = between(counted(2), after);
  const ProbeReport expected = counted(5);
  EXPECT_EQ(counts_of(r), counts_of(expected));
  EXPECT_EQ(r.depth, expected.depth);
  EXPECT_EQ(r.request_bytes, expected.request_bytes);
  EXPECT_EQ(r.latency_ns, expected.latency_ns);
  EXPECT_EQ(r.driver_now, 3U);  // a moment's, no count
  EXPECT_EQ(r.scheduler_now, 5U);
}

// Of a request that was there before the start it is known when it ended, and not how much of its
// time is this interval's.
TEST(Between, HasNoMeanDepthWhereTooMuchIsOfRequestsFromBeforeTheStart) {
  ProbeReport before, after;
  before.busy_ns = 100;
  after.busy_ns = 200;
  after.depth_ns = 1000;
  after.orphan_ns = 50;
  EXPECT_EQ(between(before, after).depth_mean, 10.0);
  after.orphan_ns = 51;
  EXPECT_EQ(between(before, after).depth_mean, std::nullopt);
}

// What was taken for one that is there, and then turns out to be gone, had counted.
TEST(Between, IsNeverLessThanNothing) {
  ProbeReport before, after;
  before.depth_ns = 100;
  after.depth_ns = 90;
  EXPECT_EQ(between(before, after).depth_ns, 0u);
}

TEST(Between, IsTheDifferenceOfTwoSnapshots) {
  ProbeReport before;
  before.requests = 10;
  before.depth_ns = 100;
  before.busy_ns = 100;
  before.latency_ns = {{8, 5}, {16, 5}};
  ProbeReport after = before;
  after.requests = 13;
  after.depth_ns = 400;
  after.busy_ns = 200;
  before.plug_merges = 2;
  after.plug_merges = 9;
  after.latency_ns = {{8, 5}, {16, 7}, {32, 1}};
  const ProbeReport r = between(before, after);
  EXPECT_EQ(r.requests, 3u);
  EXPECT_EQ(r.depth_mean, 3.0);
  EXPECT_EQ(r.plug_merges, 7u);
  EXPECT_EQ(r.scheduler_merges, std::nullopt);
  EXPECT_EQ(r.latency_ns, (ProbeBuckets{{16, 2}, {32, 1}}));
}

}  // namespace
}  // namespace blksweep
