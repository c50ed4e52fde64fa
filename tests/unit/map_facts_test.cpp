#include "model/map_facts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/rng.h"
#include "cli/model/map_text.h"
#include "model/map_fit.h"
#include "support/map_rig.h"

namespace blksweep {
namespace {

const RotatingSpec& rotating(const ModelSpec& spec) { return std::get<RotatingSpec>(spec.timing); }

double rate_at(const RotatingSpec& spec, double fraction) {
  const auto zones = static_cast<double>(spec.zone_rates.size());
  return spec.zone_rates[static_cast<std::size_t>(fraction * zones)];
}

void expect_seeks(const LatencyMap& map, const MapFacts& facts, const RotatingSpec& spec) {
  // 16 each way; a drive that reads ahead answers the shortest ones without a seek.
  EXPECT_GE(facts.seeks.size(), 24U);
  for (const SeekEstimate& s : facts.seeks) {
    const auto distance = static_cast<double>(s.distance);
    const double truth = seek_ns(s.distance > 0 ? spec.seek_forward : spec.seek_backward,
                                 std::abs(distance) / static_cast<double>(map.size));
    EXPECT_NEAR(s.ns / truth, 1, 0.1) << s.distance << " of " << truth;
  }
}

class ManySeeds : public testing::TestWithParam<std::uint64_t> {};

TEST_P(ManySeeds, AMinuteRecoversTheDisk) {
  MapRigSettings s;
  s.model = test_disk();
  s.seed = GetParam();
  const LatencyMap map = map_of_model(s);
  const MapFacts facts = map_facts(map);
  ASSERT_TRUE(facts.rotation);
  EXPECT_NEAR(facts.rotation->period_ns, 60e9 / 7200, 0.001 * 60e9 / 7200);
  expect_seeks(map, facts, rotating(s.model));
  EXPECT_GE(facts.zones.size(), 9U);
  for (const ZoneRate& z : facts.zones) {
    const double at = static_cast<double>(z.offset) / static_cast<double>(map.size);
    EXPECT_NEAR(z.bytes_per_s / rate_at(rotating(s.model), at), 1, 0.02) << at;
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, ManySeeds, testing::Range<std::uint64_t>(1, 9));

std::size_t short_ways(const ModelSpec& model) {
  MapRigSettings s;
  s.model = model;
  const MapFacts facts = map_facts(map_of_model(s));
  return static_cast<std::size_t>(std::ranges::count_if(facts.seeks, [](const SeekEstimate& e) {
    return std::abs(e.distance) < std::int64_t{4} << 20;
  }));
}

// Ways that a drive's read-ahead answers say nothing of the arm.
TEST(MapFacts, ShortWaysCountWhereTheDriveDoesNotReadAhead) {
  EXPECT_EQ(short_ways(test_disk()), 6U);
  ModelSpec ahead = test_disk();
  std::get<RotatingSpec>(ahead.timing).cache_segment = Bytes{std::uint64_t{8} << 20};
  EXPECT_LT(short_ways(ahead), 6U);
}

TEST(MapFacts, AFasterClockIsRecoveredToo) {
  for (const double speedup : {4.0, 10.0}) {
    MapRigSettings s;
    s.model = test_disk(speedup);
    s.seconds = 60 / speedup;
    s.noise = {20, 30, 0.002};
    const MapFacts facts = map_facts(map_of_model(s));
    ASSERT_TRUE(facts.rotation) << speedup;
    EXPECT_NEAR(facts.rotation->period_ns * speedup, 60e9 / 7200, 8333) << speedup;
  }
}

TEST(MapFacts, AnArmThatIsSlowerBackwardsIsSeenAsSuch) {
  MapRigSettings s;
  s.model = test_disk();
  RotatingSpec spec = rotating(s.model);
  for (SeekPoint& p : spec.seek_backward) {
    p.ns *= 1.3;
  }
  s.model.timing = spec;
  const LatencyMap map = map_of_model(s);
  expect_seeks(map, map_facts(map), spec);
}

// Noise alone makes a way look shorter than one before it: what is then made one is their mean.
TEST(MapFacts, AnArmThatTakesAsLongToEverywhereIsSeenAsSuch) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    MapRigSettings s;
    s.model = test_disk();
    s.seed = seed;
    RotatingSpec spec = rotating(s.model);
    spec.seek_forward = spec.seek_backward = {{0, 6e6}, {1, 6e6}};
    s.model.timing = spec;
    const LatencyMap map = map_of_model(s);
    expect_seeks(map, map_facts(map), spec);
  }
}

// Sixteen reads over each distance, spread over one revolution; `slower_ns` more on the way back.
std::vector<SeekEstimate> seeks_over(std::size_t distances, std::int64_t slower_ns) {
  constexpr std::int64_t kPeriod = 8'000'000, kSeek = 5'000'000, kReads = 16;
  LatencyMap map;
  map.size = std::uint64_t{1} << 40;
  for (std::size_t d = 0; d < distances; ++d) {
    for (std::int64_t i = 0; i < kReads; ++i) {
      const std::int64_t distance = std::int64_t{1} << (30 + d);
      const std::int64_t latency = kSeek + kPeriod * i / kReads;
      map.reads.push_back({.latency_ns = latency, .distance = distance});
      map.reads.push_back({.latency_ns = latency + slower_ns, .distance = -distance});
    }
  }
  return seek_estimates(map, {.period_ns = kPeriod, .path_ns = 100'000});
}

// What two directions have in common is seen in no less than four distances.
TEST(MapFacts, FourWaysThatAreAsFastBackAreOnePairEach) {
  for (const std::size_t distances : {3U, 4U, 5U}) {
    const auto seeks = seeks_over(distances, 200'000);
    ASSERT_EQ(seeks.size(), 2 * distances);
    for (std::size_t i = 0; i < distances; ++i) {
      const SeekEstimate &back = seeks[i], &there = seeks[2 * distances - 1 - i];
      ASSERT_EQ(back.distance, -there.distance);
      EXPECT_NEAR(back.raw_ns - there.raw_ns, distances < 4 ? 200'000 : 0, 1) << distances;
    }
  }
}

TEST(MapFacts, FourWaysThatAreSlowerBackStaySo) {
  const auto seeks = seeks_over(4, 2'000'000);
  ASSERT_EQ(seeks.size(), 8U);
  EXPECT_NEAR(seeks.front().raw_ns - seeks.back().raw_ns, 2e6, 1);
}

TEST(Rotation, IsNotFoundInFlash) {
  MapRigSettings s;
  s.model = test_flash();
  s.seconds = 10;
  s.parts = {MapPart::revisit};
  s.noise = {20, 60, 0.001};
  for (s.seed = 1; s.seed <= 5; ++s.seed) {
    EXPECT_FALSE(find_rotation(map_of_model(s)));
  }
}

// Latencies of several kinds, none of which turns.
LatencyMap noise_map(std::uint64_t seed) {
  Rng rng(seed);
  LatencyMap map;
  map.size = std::uint64_t{1} << 30;
  std::int64_t now = 0;
  const double base = 50e3 * std::pow(200.0, rng.unit());
  for (int round = 0; round < 8; ++round) {
    for (std::uint64_t place = 0; place < 48; ++place) {
      const double wide = rng.unit();
      const double latency = seed % 3 == 0   ? base * (1 + wide)
                             : seed % 3 == 1 ? base * std::exp(0.3 * rng.normal())
                                             : base + 20e3 * wide;
      const auto ns = static_cast<std::int64_t>(latency);
      map.reads.push_back({now, ns, place * 4096 * 1000, 0, 4096, 1, MapPart::revisit});
      now += ns + 1000;
    }
  }
  return map;
}

// 100 of them for time: 300 were tried once, with none found (docs/latency-map.md).
TEST(Rotation, IsNeverFoundInNoise) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const auto r = find_rotation(noise_map(seed));
    EXPECT_FALSE(r) << seed << ": " << r->period_ns << " coherence " << r->coherence;
  }
}

// A busy host lets most reads end with its clock tick, at whatever place they are.
LatencyMap tick_map(std::uint64_t seed) {
  constexpr std::int64_t kTick = 4'000'000;
  LatencyMap map = noise_map(seed);
  Rng rng(seed);
  std::int64_t now = 0;
  for (int again = 0; again < 4; ++again) {
    for (std::size_t i = 0; i < std::size_t{8} * 48; ++i) {
      MapRead& r = again == 0 ? map.reads[i] : map.reads.emplace_back(map.reads[i]);
      const auto own = static_cast<std::int64_t>(100e3 + 30e3 * rng.unit());
      const std::int64_t late = (now / kTick + 1) * kTick - now + own / 4;
      r.begin_ns = now;
      r.latency_ns = rng.below(4) == 0 ? own : late;
      now += r.latency_ns + 1000;
    }
  }
  return map;
}

TEST(Rotation, IsNotTheTickOfABusyHost) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const LatencyMap map = tick_map(seed);
    ASSERT_TRUE(find_rotation(map)) << "the test shows nothing";
    const MapFacts facts = map_facts(map);
    EXPECT_FALSE(facts.rotation) << seed;
    EXPECT_NEAR(facts.tick_ns.value_or(0), 4e6, 1e4) << seed;
  }
}

TEST(Rotation, IsUnknownFromTooFewVisits) {
  LatencyMap map = noise_map(1);
  map.reads.resize(60);
  EXPECT_FALSE(find_rotation(map));
  map.reads.clear();
  EXPECT_FALSE(find_rotation(map));
}

TEST(Rotation, IsKnownFromThreeVisitsOfAPlaceAndNotFromTwo) {
  MapRigSettings s;
  s.model = test_disk();
  s.parts = {MapPart::revisit};
  const LatencyMap whole = map_of_model(s);
  for (const int visits : {2, 3, 4}) {
    LatencyMap map = whole;
    std::map<std::uint64_t, int> seen;
    std::erase_if(map.reads, [&](const MapRead& r) { return ++seen[r.offset] > visits; });
    const auto found = find_rotation(map);
    ASSERT_EQ(found.has_value(), visits > 2) << visits;
    EXPECT_NEAR(found ? found->period_ns : 60e9 / 7200, 60e9 / 7200, 0.01 * 60e9 / 7200);
  }
}

TEST(MapFacts, OfNoReadsAreUnknown) {
  const MapFacts f = map_facts(LatencyMap{});
  EXPECT_FALSE(f.path_ns);
  EXPECT_FALSE(f.rotation);
  EXPECT_TRUE(f.seeks.empty());
  EXPECT_TRUE(f.zones.empty());
  EXPECT_TRUE(f.depths.empty());
}

TEST(MapFacts, BearsAnyReads) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Rng rng(seed);
    LatencyMap map;
    map.size = rng.below(std::uint64_t{1} << 40);
    for (std::uint64_t i = rng.below(300); i > 0; --i) {
      MapRead r;
      r.begin_ns = static_cast<std::int64_t>(rng.below(1 + rng.below(1'000'000'000)));
      r.latency_ns = static_cast<std::int64_t>(rng.below(1 + rng.below(100'000'000)));
      r.offset = 4096 * rng.below(1 + rng.below(1000));
      r.distance = static_cast<std::int64_t>(rng.below(5)) - 2;
      r.bytes = static_cast<std::uint32_t>(4096 * (1 + rng.below(4)));
      r.depth = static_cast<std::uint32_t>(1 + rng.below(4));
      r.part = kMapParts[rng.below(kMapParts.size())];
      map.reads.push_back(r);
    }
    const MapFacts facts = map_facts(map);
    EXPECT_LE(facts.depths.size(), 4U);
  }
}

// --- the fit -----------------------------------------------------------------------------------

TEST(MapFit, FindsTheQueueOfADisk) {
  for (const std::uint32_t queue : {1U, 4U, 32U}) {
    MapRigSettings s;
    s.model = test_disk();
    RotatingSpec spec = rotating(s.model);
    spec.queue = queue;
    s.model.timing = spec;
    s.seconds = 120;
    const LatencyMap map = map_of_model(s);
    const auto fit = fit_map(map, map_facts(map));
    ASSERT_TRUE(fit) << fit.error().message();
    EXPECT_EQ(rotating(fit->spec).queue, queue);
    EXPECT_LT(fit->error, 0.1);
  }
}

TEST(MapFit, OfFlashAnswersLikeIt) {
  MapRigSettings s;
  s.model = test_flash();
  s.seconds = 20;
  s.noise = {5, 10, 0};
  const LatencyMap map = map_of_model(s);
  const auto fit = fit_map(map, map_facts(map));
  ASSERT_TRUE(fit) << fit.error().message();
  EXPECT_TRUE(std::holds_alternative<FlashSpec>(fit->spec.timing));
  EXPECT_LT(fit->error, 0.2);
}

TEST(MapFit, SaysHowFarOffItIsWhereNoModelAnswersLikeTheDevice) {
  MapRigSettings s;
  s.model = test_flash();
  s.seconds = 20;
  s.noise = {5, 10, 0};
  LatencyMap map = map_of_model(s);
  const auto good = fit_map(map, map_facts(map));
  ASSERT_TRUE(good) << good.error().message();
  EXPECT_FALSE(worst_check(*good).poor()) << worst_check(*good).what;
  // With 64 in flight it does a tenth of the work: no queue of any model does that.
  for (MapRead& r : map.reads) {
    if (r.part == MapPart::depth && r.depth == 64) {
      r.begin_ns *= 10;
      r.latency_ns *= 10;
    }
  }
  const auto fit = fit_map(map, map_facts(map));
  ASSERT_TRUE(fit) << fit.error().message();
  EXPECT_TRUE(worst_check(*fit).poor());
  EXPECT_NE(worst_check(*fit).what.find("depth 64"), std::string::npos) << worst_check(*fit).what;
}

TEST(MapFit, RefusesWhatItCannotKnowAndSaysWhatToMeasure) {
  MapRigSettings s;
  s.model = test_disk();
  s.parts = {MapPart::revisit, MapPart::cached};
  LatencyMap map = map_of_model(s);
  auto fit = fit_map(map, map_facts(map));
  ASSERT_FALSE(fit);
  EXPECT_NE(fit.error().message().find("--parts distance"), std::string::npos);
  map.reads.clear();
  fit = fit_map(map, map_facts(map));
  ASSERT_FALSE(fit);
  EXPECT_NE(fit.error().message().find("--parts size,depth,zone"), std::string::npos);
}

TEST(MapFit, SurvivesBeingWrittenAndParsed) {
  MapRigSettings s;
  s.model = test_disk();
  const LatencyMap map = map_of_model(s);
  const auto fit = fit_map(map, map_facts(map));
  ASSERT_TRUE(fit) << fit.error().message();
  const auto again = parse_model(to_toml(fit->spec), "fit");
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(to_toml(*again), to_toml(fit->spec));
}

TEST(MapText, SeeksAreThoseOfTheDistancesBesideThem) {
  MapReport report;
  report.facts.seeks = {{.distance = -(1 << 30), .ns = 9e6},
                        {.distance = -(1 << 20), .ns = 2e6},
                        {.distance = 1 << 20, .ns = 3e6},
                        {.distance = 1 << 22, .ns = 1e6}};
  EXPECT_NE(map_text(report).find("seek        2 ms over 1 MiB, 9 ms over 1 GiB"),
            std::string::npos)
      << map_text(report);
}

}  // namespace
}  // namespace blksweep
