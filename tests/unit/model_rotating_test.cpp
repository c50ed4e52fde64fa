// The rotating model against what its equations say (docs/models.md).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "support/model_rig.h"

namespace blksweep {
namespace {

using namespace support;

constexpr double kTurn = 8e6;  // 8 ms: one revolution of plain()

// 100 MB/s everywhere: 800,000 bytes in a revolution; seeks of 1 to 10 ms.
RotatingSpec plain() {
  RotatingSpec spec;
  spec.rotation_ns = kTurn;
  spec.seek_forward = {{0, 1e6}, {1, 10e6}};
  spec.seek_backward = spec.seek_forward;
  spec.zone_rates = {100e6};
  spec.overhead_ns = 100e3;
  spec.interface_rate = 500e6;
  spec.cache_segment = Bytes{0};
  return spec;
}

RotatingSpec hdd() { return std::get<RotatingSpec>(shipped("hdd-7200").timing); }

std::unique_ptr<DiskModel> model_of(const RotatingSpec& spec, Bytes size = kDevice) {
  return make_model({"test", "", spec}, size);
}

double mean_ns(const QueueResult& r, std::size_t count) {
  return static_cast<double>(r.wall_ns) / static_cast<double>(count);
}

TEST(SeekCurve, GoesThroughItsThreeNumbers) {
  using std::chrono::microseconds;
  const auto curve = seek_curve(microseconds(600), microseconds(8000), microseconds(15000));
  ASSERT_TRUE(curve);
  EXPECT_DOUBLE_EQ(seek_ns(*curve, 0), 600e3);
  EXPECT_DOUBLE_EQ(seek_ns(*curve, 1), 15e6);
  EXPECT_NEAR(mean_seek_ns(*curve), 8e6, 8e2);
}

TEST(SeekCurve, HasTheMeanOfUniformPairs) {
  const SeekCurve curve = hdd().seek_forward;
  Rng rng(1);
  double sum = 0;
  for (int i = 0; i < 200'000; ++i) {
    sum += seek_ns(curve, std::abs(rng.unit() - rng.unit()));
  }
  EXPECT_NEAR(sum / 200'000, mean_seek_ns(curve), 0.005 * mean_seek_ns(curve));
}

TEST(SeekCurve, RisesWithTheDistance) {
  const SeekCurve curve = hdd().seek_forward;
  for (int i = 1; i <= 10'000; ++i) {
    EXPECT_GT(seek_ns(curve, i / 1e4), seek_ns(curve, (i - 1) / 1e4));
  }
}

TEST(SeekCurve, RefusesNumbersThatNoRisingCurveHas) {
  using std::chrono::milliseconds;
  EXPECT_FALSE(seek_curve(milliseconds(1), milliseconds(2), milliseconds(30)));
  EXPECT_FALSE(seek_curve(milliseconds(1), milliseconds(15), milliseconds(16)));
  EXPECT_FALSE(seek_curve(milliseconds(9), milliseconds(8), milliseconds(15)));
  EXPECT_TRUE(seek_curve(milliseconds(5), milliseconds(5), milliseconds(5)));
}

TEST(SeekCurve, HoldsItsEndsOutsideItsPoints) {
  const SeekCurve curve{{0.25, 2e6}, {0.5, 4e6}};
  EXPECT_DOUBLE_EQ(seek_ns(curve, 0.1), 2e6);
  EXPECT_DOUBLE_EQ(seek_ns(curve, 0.9), 4e6);
  EXPECT_GT(mean_seek_ns(curve), 2e6);
  EXPECT_LT(mean_seek_ns(curve), 4e6);
}

TEST(Rotating, RandomReadsAtDepthOneHaveTheAnalyticMean) {
  for (const char* name : {"hdd-7200", "hdd-5400"}) {
    const ModelSpec spec = shipped(name);
    const auto reads = random_reads(20'000, kDevice, 4096);
    const auto model = make_model(spec, kDevice);
    const double analytic = *model_facts(spec, kDevice).random_mean_ns;
    EXPECT_NEAR(mean_ns(simulate_queue(*model, reads, 1), reads.size()), analytic, 0.01 * analytic);
  }
}

TEST(Rotating, RandomReadsOnAPartOfTheStrokeHaveTheAnalyticMeanToo) {
  RotatingSpec spec = hdd();
  spec.stroke = Bytes{4 * kDevice.n};
  const auto reads = random_reads(20'000, kDevice, 4096);
  const ModelFacts facts = model_facts({"", "", spec}, kDevice);
  EXPECT_LT(*facts.seek_mean_ns, mean_seek_ns(spec.seek_forward));
  EXPECT_NEAR(*facts.sequential_end, 180e6, 1);  // the 4th of 16 zones
  EXPECT_NEAR(mean_ns(simulate_queue(*model_of(spec), reads, 1), reads.size()),
              *facts.random_mean_ns, 0.01 * *facts.random_mean_ns);
}

TEST(Rotating, WaitsForThePlatterBetweenNothingAndOneTurn) {
  constexpr std::uint64_t kFar = 2'000'000'000;
  constexpr std::uint32_t kBytes = 80'000;  // a tenth of a turn
  const RotatingSpec spec = plain();
  const double distance = static_cast<double>(kFar) / static_cast<double>(kDevice.n);
  const double least = spec.overhead_ns + seek_ns(spec.seek_forward, distance) + kTurn / 10;
  std::vector<double> times;
  for (int i = 0; i < 1000; ++i) {
    const auto at = static_cast<std::int64_t>(100e6 + kTurn * i / 1000);
    times.push_back(static_cast<double>(latency(*model_of(spec), at, {kFar, kBytes, false})));
  }
  EXPECT_NEAR(*std::ranges::min_element(times), least, kTurn / 500);
  EXPECT_NEAR(*std::ranges::max_element(times), least + kTurn, kTurn / 500);
}

TEST(Rotating, MeetsTheSamePlaceAtMultiplesOfATurnForHours) {
  constexpr std::array<std::uint64_t, 3> kPlaces{4096, 3'000'000'000, 5'000'001'024};
  const auto model = model_of(plain());
  std::array<double, 3> phase{-1, -1, -1};
  std::int64_t now = 0;
  for (int i = 0; i < 3000; ++i) {
    const auto place = static_cast<std::size_t>(i % 3);
    now += latency(*model, now, {kPlaces[place], 4096, false});
    const double met = std::fmod(static_cast<double>(now), kTurn);
    phase[place] = phase[place] < 0 ? met : phase[place];
    EXPECT_NEAR(std::remainder(met - phase[place], kTurn), 0, 1e3);
    now += 3'333'333'337;  // 10,000 s in all
  }
}

TEST(Rotating, ReadsSequentiallyAtTheZonesRateWhateverTheHostDoesBetween) {
  const RotatingSpec spec = hdd();
  const auto reads = sequential(0, kDevice.n / 16, 128 << 10);
  for (const std::int64_t host : {0, 20'000, 50'000, 100'000}) {
    const QueueResult r = simulate_queue(*model_of(spec), reads, 1, host);
    const double after_start = static_cast<double>(r.wall_ns) - spec.rotation_ns;
    EXPECT_NEAR(static_cast<double>(r.bytes) * 1e9 / after_start, 200e6, 200e3) << host;
  }
}

TEST(Rotating, ReadsSequentiallyOverZoneBordersInTheSumOfTheZonesTimes) {
  const RotatingSpec spec = hdd();
  for (const std::uint32_t bytes : {4096U, 1U << 20}) {
    const Bytes size{std::uint64_t{256} << 20};
    const auto reads = sequential(0, size.n, bytes);
    const QueueResult r = simulate_queue(*model_of(spec, size), reads, 32);
    double all = spec.rotation_ns;  // until the first byte comes by again
    for (const double rate : spec.zone_rates) {
      all += static_cast<double>(size.n) / 16 * 1e9 / rate;
    }
    EXPECT_NEAR(static_cast<double>(r.wall_ns), all, 100);
  }
}

TEST(Rotating, QueuedSequentialWritesAndReadsWithoutReadAheadLoseNoTurn) {
  // 80,000 bytes are a tenth of a turn: every tenth request begins where a track does.
  for (const std::uint32_t bytes : {64U << 10, 80'000U}) {
    for (const bool write : {false, true}) {
      const auto requests = sequential(0, 800'000'000, bytes, write);
      const QueueResult r = simulate_queue(*model_of(plain()), requests, 4);
      EXPECT_NEAR(static_cast<double>(r.wall_ns), static_cast<double>(r.bytes) * 10, kTurn + 2e5);
    }
  }
}

TEST(Rotating, WritesThroughSoThatTheNextSequentialOneWaitsForATurn) {
  const auto writes = sequential(0, 100 * 64 << 10, 64 << 10, true);
  const QueueResult r = simulate_queue(*model_of(plain()), writes, 1);
  // The place passes by during the overhead and comes back a turn after the last write ended.
  EXPECT_NEAR(mean_ns(r, writes.size()), kTurn + (64 << 10) * 10, 0.01 * kTurn);
}

TEST(Rotating, ASlowSequentialReaderIsServedFromTheReadAhead) {
  RotatingSpec spec = hdd();
  const auto reads = sequential(0, 64 << 20, 4096);
  constexpr std::int64_t kHost = 100'000;
  const QueueResult r = simulate_queue(*model_of(spec), reads, 1, kHost);
  const double each = spec.overhead_ns + 4096 * 1e9 / spec.interface_rate + kHost;
  EXPECT_NEAR(mean_ns(r, reads.size()), each, 0.01 * each);
}

TEST(Rotating, AnswersFromTheCacheWithoutTheHead) {
  RotatingSpec spec = plain();
  spec.cache_segments = 4;
  spec.cache_segment = Bytes{64 << 10};
  const auto model = model_of(spec);
  const std::int64_t first = latency(*model, 0, {1'000'000'000, 8192, false});
  EXPECT_GT(first, 1'000'000);
  const double hit = spec.overhead_ns + 8192 * 1e9 / spec.interface_rate;
  EXPECT_NEAR(static_cast<double>(latency(*model, 50'000'000, {1'000'000'000, 8192, false})), hit,
              1);
  EXPECT_NEAR(static_cast<double>(latency(*model, 60'000'000, {1'000'032'768, 8192, false})), hit,
              1);
  // Elsewhere and back: the segment stays until four others were begun.
  EXPECT_GT(latency(*model, 100'000'000, {2'000'000'000, 8192, false}), 1'000'000);
  EXPECT_NEAR(static_cast<double>(latency(*model, 200'000'000, {1'000'000'000, 8192, false})), hit,
              1);
  for (std::uint64_t i = 3; i < 7; ++i) {
    const auto at = static_cast<std::int64_t>(i * 100'000'000);
    EXPECT_GT(latency(*model, at, {i * 1'000'000'000, 8192, false}), 1'000'000);
  }
  EXPECT_GT(latency(*model, 900'000'000, {1'000'000'000, 8192, false}), 1'000'000);
}

TEST(Rotating, DropsWhatIsWrittenFromTheCache) {
  RotatingSpec spec = plain();
  spec.cache_segment = Bytes{64 << 10};
  const auto model = model_of(spec);
  latency(*model, 0, {1'000'000'000, 8192, false});
  EXPECT_GT(latency(*model, 50'000'000, {1'000'004'096, 512, true}), 200'000);
  EXPECT_GT(latency(*model, 100'000'000, {1'000'000'000, 8192, false}), 200'000);
}

TEST(Rotating, KeepsTheOrderOfArrivalWithoutAQueue) {
  RotatingSpec spec = hdd();
  spec.queue = 1;
  std::vector<Arrival> arrivals;
  for (const DiskRequest& r : random_reads(500, kDevice, 4096)) {
    arrivals.push_back({static_cast<std::int64_t>(arrivals.size()) * 1000, r});
  }
  const auto model = model_of(spec);
  std::int64_t before = 0;
  for (const auto& [tag, at] : completions(*model, arrivals, Asking::late)) {
    EXPECT_GT(at, before);
    before = at;
  }
  EXPECT_GT(before, 0);
}

TEST(Rotating, ChoosingTheNearestIsAlmostTwiceAsFastAtDepth32) {
  RotatingSpec fifo = hdd();
  fifo.queue = 1;
  const auto reads = random_reads(10'000, kDevice, 4096);
  const QueueResult slow = simulate_queue(*model_of(fifo), reads, 32);
  const QueueResult fast = simulate_queue(*model_of(hdd()), reads, 32);
  EXPECT_GE(static_cast<double>(slow.wall_ns) / static_cast<double>(fast.wall_ns), 1.8);
}

TEST(Rotating, ChoosesOnlyAmongWhatIsInside) {
  RotatingSpec two = hdd();
  two.queue = 2;
  const auto reads = random_reads(5'000, kDevice, 4096);
  // One is served, two wait: the choice is of two.
  const QueueResult few = simulate_queue(*model_of(two), reads, 3);
  const QueueResult many = simulate_queue(*model_of(two), reads, 64);
  EXPECT_NEAR(mean_ns(many, reads.size()), mean_ns(few, reads.size()),
              0.03 * mean_ns(few, reads.size()));
}

// A sequential stream of 31 requests is always nearest; one far request waits beside it.
std::int64_t far_request_waits(double ageing) {
  RotatingSpec spec = hdd();
  spec.ageing = ageing;
  const auto model = model_of(spec);
  std::uint64_t tag = 0, at = 0;
  std::vector<DiskCompletion> done;
  const auto submit = [&](std::int64_t now) {
    model->arrive(now, ++tag, {at, 64 << 10, false});
    at += 64 << 10;
  };
  for (int i = 0; i < 31; ++i) {
    submit(0);
  }
  model->arrive(1'000'000, 0, {kDevice.n - 4096, 4096, false});
  while (at < std::uint64_t{2} << 30) {
    const std::int64_t now = *model->next();
    model->advance(now, done);
    for (const DiskCompletion& c : done) {
      if (c.tag == 0) {
        return c.at_ns;
      }
      submit(now);
    }
    done.clear();
  }
  return -1;
}

TEST(Rotating, NoRequestStarvesBesideASequentialStream) {
  EXPECT_EQ(far_request_waits(0), -1) << "without ageing it does, or the test shows nothing";
  const std::int64_t waited = far_request_waits(hdd().ageing);
  EXPECT_GT(waited, 0);
  EXPECT_LT(waited, 2'600'000'000);
}

TEST(Rotating, LateArrivalsOfAnIdleTimeAreServedAtTheirOwnTime) {
  const auto model = model_of(plain());
  std::vector<DiskCompletion> done;
  model->arrive(1'000'000, 1, {4'000'000'000, 4096, false});
  model->arrive(2'000'000, 2, {5'000'000'000, 4096, false});
  model->advance(90'000'000'000, done);
  ASSERT_EQ(done.size(), 2U);
  EXPECT_LT(done[0].at_ns, 25'000'000);
  EXPECT_LT(done[1].at_ns, 45'000'000);
}

TEST(ModelFacts, OfARotatingDiskAreItsZonesAndItsTurn) {
  const ModelFacts facts = model_facts(shipped("hdd-7200"), kDevice);
  EXPECT_DOUBLE_EQ(*facts.rotation_ns, 8333333);
  EXPECT_DOUBLE_EQ(*facts.sequential_begin, 200e6);
  EXPECT_DOUBLE_EQ(*facts.sequential_end, 100e6);
  EXPECT_NEAR(*facts.sequential_mean, 143.5e6, 0.1e6);  // harmonic, not 150
}

}  // namespace
}  // namespace blksweep
