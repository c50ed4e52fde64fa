// What a trace is like, on traces whose figures are known.
#include "trace/trace_stat.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.h"
#include "trace/access_sample.h"

namespace blksweep {
namespace {

TraceRecord read_at(std::int64_t time, std::uint64_t offset, std::uint64_t bytes,
                    std::uint32_t place = 0, std::int64_t latency = kNotTold) {
  TraceRecord r;
  r.time_ns = time;
  r.offset = offset;
  r.bytes = bytes;
  r.place = place;
  r.latency_ns = latency;
  return r;
}

TEST(TraceStat, BlocksOfManyPlacesAreDifferentOnes) {
  TraceStat s;
  for (std::uint32_t place = 0; place < 10'000; ++place) {
    s.add(read_at(place, 0, 4096, place));
  }
  EXPECT_TRUE(s.blocks().exact());
  EXPECT_EQ(s.blocks().keys(), 10'000);
  EXPECT_EQ(s.blocks().curve().back().misses, 1.0);
}

TEST(TraceStat, CountsTheBlocksThatAnAccessTouches) {
  TraceStat s;
  s.add(read_at(0, 4095, 2));
  EXPECT_EQ(s.blocks().keys(), 2);
  s.add(read_at(1, 0, 0));
  EXPECT_EQ(s.blocks().keys(), 2) << "a read of nothing touches nothing";
  TraceRecord ended = read_at(2, 1 << 20, 4096);
  ended.returned = 0;
  s.add(ended);
  EXPECT_EQ(s.blocks().keys(), 2) << "so does one at the end of a file";
  EXPECT_EQ(s.bytes(TraceOp::read), 2U);
  EXPECT_EQ(s.requests(), 3U);
}

// In one access or one by one, they are the same blocks.
TEST(TraceStat, TheBlocksOfAnAccessAreThoseBehindItsFirst) {
  TraceStat s;
  s.add(read_at(0, std::uint64_t{7} * kStatBlock, 3 * std::uint64_t{kStatBlock}));
  for (const std::uint64_t block : {7U, 8U, 9U}) {
    s.add(read_at(1, block * kStatBlock, kStatBlock));
  }
  EXPECT_EQ(s.blocks().keys(), 3);
}

TEST(TraceStat, ARequestOfMoreThanFourGibibytesHasItsFirstBlocksOnly) {
  for (const auto& [gibibytes, blocks] : {std::pair(0.5, 0.5), {4.0, 4.0}, {8.0, 4.0}}) {
    TraceStat s;
    s.add(read_at(0, 0, static_cast<std::uint64_t>(gibibytes * 0x1p30)));
    EXPECT_NEAR(s.blocks().keys() / 0x1p18, blocks, blocks * 0.05) << "estimated";
    EXPECT_EQ(static_cast<double>(s.bytes(TraceOp::read)), gibibytes * 0x1p30);
  }
}

TEST(TraceStat, OnlyReadsAndWritesAreAccesses) {
  for (const TraceOp op : {TraceOp::read, TraceOp::write, TraceOp::flush}) {
    TraceStat s;
    TraceRecord r = read_at(0, 0, 4096);
    r.op = op;
    s.add(r);
    EXPECT_EQ(s.blocks().keys(), op == TraceOp::flush ? 0 : 1);
    EXPECT_EQ(s.sequential().has_value(), op != TraceOp::flush);
  }
}

TEST(TraceStat, SaysOfWhichRequestsItHasTheFirstBytesOnly) {
  TraceStat s;
  s.add(read_at(0, 0, (std::uint64_t{2} << 30) - 4096));  // what read(2) gives at most
  EXPECT_NEAR(s.blocks().keys() * 4096, 0x1p31, 0.05 * 0x1p31);
  s.add(read_at(1, 0, kStatMost));
  EXPECT_EQ(s.cut(), 0U);
  s.add(read_at(2, 0, kStatMost + 1));
  EXPECT_EQ(s.cut(), 1U);
}

TEST(TraceStat, SequentialIsWithinAPlace) {
  TraceStat s;
  for (std::uint64_t i = 0; i < 100; ++i) {
    s.add(read_at(0, i * 4096, 4096, 1));
    s.add(read_at(0, i * 8192, 4096, 2));
  }
  EXPECT_DOUBLE_EQ(*s.sequential(), 99.0 / 200);
}

// As a reader that goes on until a read gives nothing.
TEST(TraceStat, WhatMovedNothingIsCountedAloneAndChangesNeitherSizesNorSequences) {
  TraceStat with, without;
  for (std::uint32_t file = 0; file < 50; ++file) {
    for (std::uint64_t i = 0; i < 3; ++i) {
      const TraceRecord r = read_at(file, i * 8192, i == 2 ? 4096 : 8192, file, 1000);
      without.add(r);
      with.add(r);
      TraceRecord end = read_at(file, (i + 1) * 8192 + file, 8192, file, 7);
      end.returned = 0;
      with.add(end);
    }
  }
  EXPECT_EQ(without.empty(), 0U);
  EXPECT_EQ(with.empty(), 150U);
  EXPECT_EQ(with.requests(), 300U);
  EXPECT_EQ(with.sizes().buckets(), without.sizes().buckets());
  EXPECT_EQ(with.latencies().buckets(), without.latencies().buckets());
  EXPECT_DOUBLE_EQ(*with.sequential(), *without.sequential());
  TraceStat nothing;
  nothing.add(read_at(0, 0, 0));
  EXPECT_FALSE(nothing.sequential());
}

TEST(TraceStat, DepthIsKnownWhereAllLatenciesAre) {
  TraceStat s;
  for (std::int64_t i = 0; i <= 1000; ++i) {
    s.add(read_at(i * 10, 0, 4096, 0, 40));
  }
  EXPECT_NEAR(*s.mean_depth(), 4, 0.02) << "Little's law";
  EXPECT_EQ(s.greatest_depth(), 4U);
  s.add(read_at(10'001, 0, 4096));
  EXPECT_FALSE(s.mean_depth() || s.greatest_depth());
}

TEST(TraceStat, DepthIsOverTheTimeToTheLastCompletion) {
  TraceStat s;
  s.add(read_at(0, 0, 4096, 0, 1000));
  EXPECT_DOUBLE_EQ(*s.mean_depth(), 1) << "a request alone";
  s.add(read_at(10, 4096, 4096, 0, 990));
  EXPECT_NEAR(*s.mean_depth(), 1.99, 1e-9) << "never more than the greatest";
}

TEST(TraceStat, GapsOfAPoissonProcessVaryByOne) {
  Rng rng(1);
  TraceStat poisson, steady;
  double at = 0;
  for (int i = 0; i < 100'000; ++i) {
    at += -1e5 * std::log(1 - static_cast<double>(rng.next() >> 11) * 0x1p-53);
    poisson.add(read_at(static_cast<std::int64_t>(at), 0, 512));
    steady.add(read_at(i * 1000, 0, 512));
  }
  EXPECT_NEAR(*poisson.gap_variation(), 1, 0.02);
  EXPECT_NEAR(*steady.gap_variation(), 0, 1e-9);
  EXPECT_FALSE(TraceStat().gap_variation());
}

TEST(TraceStat, TheRateKeepsAllRequestsWhateverItsStep) {
  for (const std::int64_t gap : {1LL, 1'000LL, 50'000'000LL, 1'000'000'000'000LL}) {
    RateSeries rate;
    for (std::int64_t i = 0; i < 5000; ++i) {
      rate.add(i * gap, 512);
    }
    std::uint64_t requests = 0, bytes = 0;
    for (const RateSeries::Step& s : rate.steps()) {
      requests += s.requests;
      bytes += s.bytes;
    }
    EXPECT_EQ(requests, 5000U);
    EXPECT_EQ(bytes, 5000U * 512);
    EXPECT_LE(rate.steps().size(), RateSeries::kMost);
  }
}

TEST(TraceStat, TheRatesBytesAddUpToWhatMoved) {
  TraceStat s;
  std::int64_t time = 0;
  for (const TraceOp op : {TraceOp::read, TraceOp::write, TraceOp::discard, TraceOp::flush}) {
    TraceRecord r = read_at(++time, 0, 4096);
    r.op = op;
    s.add(r);
  }
  std::uint64_t bytes = 0;
  for (const RateSeries::Step& step : s.rate().steps()) {
    bytes += step.bytes;
  }
  EXPECT_EQ(bytes, s.bytes(TraceOp::read) + s.bytes(TraceOp::write));
}

TEST(TraceStat, DepthOverTimeHasEachRequestForItsLatency) {
  TraceStat s;
  s.add(read_at(0, 0, 4096, 0, 3'000'000));          // 0 to 3 ms
  s.add(read_at(1'500'000, 0, 4096, 0, 1'000'000));  // 1.5 to 2.5 ms
  s.add(read_at(5'000'000, 0, 4096, 0, 1'000));
  std::vector<double> depth;
  for (const RateSeries::Step& step : s.rate().steps()) {
    depth.push_back(step.in_flight_ns / static_cast<double>(s.rate().step_ns()));
  }
  EXPECT_EQ(depth, (std::vector<double>{1, 1.5, 1.5, 0, 0, 0}));
}

TEST(TraceStat, DepthOverTimeAddsUpToTheLatenciesHoweverLongTheTrace) {
  Rng rng(5);
  TraceStat s;
  std::int64_t time = 0;
  double latencies = 0;
  for (int i = 0; i < 20'000; ++i) {
    time += static_cast<std::int64_t>(rng.below(400'000));
    const auto latency = static_cast<std::int64_t>(rng.below(9'000'000));
    s.add(read_at(time, 0, 4096, 0, latency));
    latencies += static_cast<double>(latency);
  }
  s.add(read_at(time + 10'000'000, 0, 4096, 0, 0));  // all have ended
  double in_flight = 0;
  for (const RateSeries::Step& step : s.rate().steps()) {
    in_flight += step.in_flight_ns;
  }
  EXPECT_LE(s.rate().steps().size(), RateSeries::kMost);
  EXPECT_NEAR(in_flight / latencies, 1, 1e-9);
}

TEST(AccessSample, KeepsAllOfAShortTraceWithPlacesBehindEachOther) {
  AccessSample sample;
  sample.add(read_at(3, 100, 50, 1));
  sample.add(read_at(1, 0, 1000, 0));
  TraceRecord flush = read_at(2, 0, 0);
  flush.op = TraceOp::flush;
  sample.add(flush);
  auto kept = sample.accesses({"a", "b"});
  ASSERT_EQ(kept.size(), 2U);
  EXPECT_EQ(kept[0].time_ns, 1);
  EXPECT_EQ(kept[0].address, 0U);
  EXPECT_EQ(kept[1].address, 1100U);
  kept = sample.accesses({"b", "a"});
  EXPECT_EQ(kept[0].address, 150U) << "by name, not as the program came by them";
  EXPECT_EQ(kept[1].address, 100U);
}

TEST(AccessSample, EachAccessOfALongTraceIsAsLikely) {
  constexpr std::uint64_t kAccesses = AccessSample::kMost * 10;
  AccessSample sample;
  for (std::uint64_t i = 0; i < kAccesses; ++i) {
    sample.add(read_at(static_cast<std::int64_t>(i), i, 1));
  }
  const auto kept = sample.accesses({"v"});
  ASSERT_EQ(kept.size(), AccessSample::kMost);
  constexpr std::size_t kParts = 20;
  std::vector<double> parts(kParts);
  for (const SampledAccess& a : kept) {
    parts[a.address * kParts / kAccesses] += 1;
  }
  const double expected = static_cast<double>(AccessSample::kMost) / kParts;
  double chi2 = 0;
  for (const double n : parts) {
    chi2 += (n - expected) * (n - expected) / expected;
  }
  EXPECT_LT(chi2, 43.8) << "p 0.001 at 19 degrees of freedom";
}

}  // namespace
}  // namespace blksweep
