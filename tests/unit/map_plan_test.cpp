#include "base/units.h"
#include "map/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "map/schedule.h"
#include "support/map_rig.h"

namespace blksweep {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

MapPlan plan_of(const MapPlanSettings& settings) { return *MapPlan::make(settings); }

class EverySize : public testing::TestWithParam<std::uint64_t> {};

TEST_P(EverySize, ReadsLieInsideAndOnBlocks) {
  const std::uint64_t size = GetParam();
  for (const std::uint32_t block : {512U, 4096U, 65536U}) {
    MapPlan plan = plan_of({size, block, 7});
    const std::uint64_t unit = std::max(block, 4096U);
    for (int round = 0; round < 60; ++round) {
      for (const MapPart part : kMapParts) {
        for (const MapStep& s : plan.next(part).steps) {
          ASSERT_GT(s.bytes, 0U);
          ASSERT_LE(s.offset + s.bytes, size);
          ASSERT_EQ(s.offset % unit, 0U) << to_string(part);
          ASSERT_EQ(s.bytes % unit, 0U);
          ASSERT_LE(s.bytes, plan.largest_read());
        }
      }
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Sizes, EverySize,
                         testing::Values(kSmallestMap, 17 * kMiB + 512, 100 * kMiB, kGiB + 4096,
                                         8 * kGiB, 16 * 1024 * kGiB));

TEST(MapPlan, ReadsOnlyWhatIsWritten) {
  const std::vector<ByteRange> written{{100 * kMiB + 100, 120 * kMiB + 5},
                                       {500 * kMiB, 500 * kMiB + 8192},
                                       {700 * kMiB, 703 * kMiB}};
  MapPlan plan = plan_of({kGiB, 4096, 7, written});
  std::map<MapPart, int> reads;
  for (int round = 0; round < 60; ++round) {
    for (const MapPart part : kMapParts) {
      for (const MapStep& s : plan.next(part).steps) {
        const auto inside = [&](const ByteRange& r) {
          return r.begin <= s.offset && s.offset + s.bytes <= r.end;
        };
        ASSERT_TRUE(std::ranges::any_of(written, inside)) << to_string(part) << ' ' << s.offset;
        ASSERT_EQ(s.offset % 4096, 0U);
        reads[part] += s.recorded ? 1 : 0;
      }
    }
  }
  for (const MapPart part : kMapParts) {
    EXPECT_GE(reads[part], 40) << to_string(part);
  }
}

TEST(MapPlan, RefusesWhereTooLittleIsWritten) {
  const Result<MapPlan> plan = MapPlan::make({kGiB, 4096, 7, {{0, kMiB}}});
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().exit_code, Exit::usage);
  EXPECT_NE(plan.error().text.find("only 1 MiB of 1 GiB are written"), std::string::npos);
}

TEST(MapPlaces, NearestAndDrawnPlacesAreWritten) {
  const MapPlaces places(kGiB, 4096, {{0, 8192}, {kMiB, 2 * kMiB}, {3 * kMiB, 3 * kMiB + 4096}});
  EXPECT_EQ(places.bytes(), kMiB + 8192 + 4096);
  EXPECT_EQ(places.longest(), kMiB);
  EXPECT_TRUE(places.holds(4096, 4096));
  EXPECT_FALSE(places.holds(4096, 8192));
  EXPECT_FALSE(places.holds(kGiB - 4096, 4096));
  EXPECT_EQ(places.nearest(12'000, 4096), 4096U);
  EXPECT_EQ(places.nearest(kMiB - 4096, 4096), kMiB);
  EXPECT_EQ(places.nearest(kGiB - 4096, 4096), 3 * kMiB);
  EXPECT_EQ(places.nearest(kGiB - 4096, 65536), 2 * kMiB - 65536)
      << "the nearest that is long enough";
  EXPECT_EQ(places.nearest(0, 2 * kMiB), std::nullopt);
  Rng rng(1);
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 5000; ++i) {
    const auto at = places.draw(4096, rng);
    ASSERT_TRUE(at && places.holds(*at, 4096));
    seen.insert(*at);
  }
  EXPECT_EQ(seen.size(), 2U + 256U + 1U) << "every place";
  EXPECT_FALSE(places.draw(2 * kMiB, rng));
}

TEST(MapPlan, IsTheSameForTheSameSeedAndAnotherForAnother) {
  MapPlan a = plan_of({kGiB, 4096, 1});
  MapPlan b = plan_of({kGiB, 4096, 1});
  MapPlan c = plan_of({kGiB, 4096, 2});
  bool differs = false;
  for (int round = 0; round < 20; ++round) {
    for (const MapPart part : kMapParts) {
      const MapBatch x = a.next(part);
      const MapBatch y = b.next(part);
      const MapBatch z = c.next(part);
      ASSERT_EQ(x.steps.size(), y.steps.size());
      for (std::size_t i = 0; i < x.steps.size(); ++i) {
        ASSERT_EQ(x.steps[i].offset, y.steps[i].offset);
        differs |= i < z.steps.size() && x.steps[i].offset != z.steps[i].offset;
      }
    }
  }
  EXPECT_TRUE(differs);
}

TEST(MapPlan, DistancesAreWhatTheySayFromTheEndOfTheReadBefore) {
  MapPlan plan = plan_of({8 * kGiB, 4096, 3});
  std::uint64_t head = 0;
  bool known = false;
  std::map<std::int64_t, int> reads;
  for (int round = 0; round < 20; ++round) {
    for (const MapStep& s : plan.next(MapPart::distance).steps) {
      if (s.recorded && known) {
        const double actual = static_cast<double>(s.offset) - static_cast<double>(head);
        const auto nominal = static_cast<double>(s.distance);
        // The root of the distance, which a seek goes by, is right within an eighth.
        EXPECT_GT(actual / nominal, 0.74) << s.distance;
        EXPECT_LT(actual / nominal, 1.26) << s.distance;
        ++reads[s.distance];
      }
      head = s.offset + s.bytes;
      known = true;
    }
  }
  EXPECT_EQ(reads.size(), 2 * kMapDistances);
  EXPECT_LE(plan.distances().front(), kMiB);
  EXPECT_GE(plan.distances().back(), 7 * kGiB);
}

TEST(MapPlan, EachRoundVisitsEveryDistanceInBothDirections) {
  MapPlan plan = plan_of({kGiB, 4096, 4});
  for (int round = 0; round < 30; ++round) {
    std::map<std::int64_t, int> reads;
    for (const MapStep& s : plan.next(MapPart::distance).steps) {
      reads[s.distance] += s.recorded ? 1 : 0;
    }
    for (const std::uint64_t d : plan.distances()) {
      EXPECT_GE(reads[static_cast<std::int64_t>(d)], 1);
      EXPECT_EQ(reads[static_cast<std::int64_t>(d)], reads[-static_cast<std::int64_t>(d)]);
    }
  }
}

TEST(MapPlan, APlaceIsVisitedAgainOnlyAfterMoreThanSixteenOthers) {
  MapPlan plan = plan_of({kGiB, 4096, 5});
  std::map<std::uint64_t, std::size_t> last;
  std::size_t at = 0;
  for (int round = 0; round < 20; ++round) {
    for (const MapStep& s : plan.next(MapPart::revisit).steps) {
      if (last.contains(s.offset)) {
        EXPECT_GT(at - last[s.offset], 20U);
      }
      last[s.offset] = at++;
    }
  }
  EXPECT_EQ(last.size(), kMapRevisits);
}

TEST(MapPlan, StretchesAreSequentialAndCoverTheDeviceHoweverEarlyItEnds) {
  MapPlan plan = plan_of({8 * kGiB, 4096, 6});
  std::set<std::uint64_t> quarters;
  for (int stretch = 0; stretch < 4; ++stretch) {
    const MapBatch batch = plan.next(MapPart::zone);
    EXPECT_EQ(batch.depth, 2U);
    for (std::size_t i = 1; i < batch.steps.size(); ++i) {
      EXPECT_EQ(batch.steps[i].offset, batch.steps[i - 1].offset + batch.steps[i - 1].bytes);
    }
    quarters.insert(batch.steps.front().offset / (2 * kGiB));
  }
  EXPECT_EQ(quarters.size(), 4U);
}

// A stretch is of the zone that its middle lies in.
TEST(MapPlan, AStretchAtTheEdgeOfAZoneIsReadForTheOneThatHasItsMiddle) {
  constexpr std::uint64_t kZone = 8 * kGiB / kMapZones, kStretch = 10 * kMiB;
  const std::uint64_t inside = 3 * kZone - kStretch / 2;  // its middle is the first byte of zone 3
  const std::uint64_t before = 7 * kZone - kStretch / 2 - 4096;  // and this one's in zone 6
  MapPlan everywhere = plan_of({8 * kGiB, 4096, 6});
  MapPlan edges =
      plan_of({8 * kGiB, 4096, 6, {{inside, inside + kStretch}, {before, before + kStretch}}});
  std::map<std::uint64_t, std::uint64_t> begins;  // of each zone that has one
  for (std::size_t i = 0; i < kMapZones; ++i) {
    const std::uint64_t zone = everywhere.next(MapPart::zone).steps.front().offset / kZone;
    if (const MapBatch batch = edges.next(MapPart::zone); !batch.steps.empty()) {
      begins[zone] = batch.steps.front().offset;
    }
  }
  EXPECT_EQ(begins, (std::map<std::uint64_t, std::uint64_t>{{3, inside}, {6, before}}));
}

TEST(MapPlan, TooSmallADeviceIsRefusedWithTheSizeThatItNeeds) {
  const auto plan = MapPlan::make({kSmallestMap - 1, 4096, 1});
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().exit_code, Exit::usage);
  EXPECT_NE(plan.error().message().find("16 MiB"), std::string::npos);
}

// --- the schedule ------------------------------------------------------------------------------

// Every read takes the same time, one after another.
class SteadyReader : public MapReader {
 public:
  explicit SteadyReader(std::int64_t latency) : latency_(latency) {}
  std::int64_t now() override { return now_; }
  Result<> carry_out(const MapBatch& batch, std::int64_t until,
                     std::vector<MapRead>& out) override {
    for (const MapStep& s : batch.steps) {
      if (now_ >= until) {
        return {};
      }
      out.push_back({now_, latency_, s.offset, s.distance, s.bytes, batch.depth, batch.part});
      now_ += latency_;
    }
    return {};
  }

 private:
  std::int64_t latency_;
  std::int64_t now_ = 0;
};

MapSchedule all_parts(std::int64_t seconds) {
  MapSchedule s;
  s.shares = map_shares({kMapParts.begin(), kMapParts.end()});
  s.time = std::chrono::seconds(seconds);
  return s;
}

TEST(MapSchedule, SlowDevicesHoldTheTime) {
  for (const std::int64_t ms : {1, 10, 100, 400}) {
    MapPlan plan = plan_of({kGiB, 4096, 1});
    SteadyReader reader(ms * 1'000'000);
    std::vector<MapRead> reads;
    ASSERT_TRUE(run_map(plan, reader, all_parts(6), reads));
    // Each part may overrun by the read that is in flight.
    EXPECT_LE(reader.now(), 6'000'000'000 + 6 * ms * 1'000'000) << ms;
    EXPECT_GE(reader.now(), 4'000'000'000) << ms;
  }
}

TEST(MapSchedule, WheneverItIsStoppedEachPartHasAboutItsShare) {
  MapPlan plan = plan_of({kGiB, 4096, 1});
  SteadyReader reader(1'000'000);
  std::vector<MapRead> reads;
  MapSchedule schedule = all_parts(60);
  schedule.stop = [&reader] { return reader.now() > 20'000'000'000; };
  ASSERT_TRUE(run_map(plan, reader, schedule, reads));
  std::map<MapPart, double> used;
  for (const MapRead& r : reads) {
    used[r.part] += 1e-3;
  }
  for (const MapShare& s : schedule.shares) {
    EXPECT_NEAR(used[s.part], 20 * s.share, 0.4) << to_string(s.part);
  }
}

TEST(MapSchedule, AFastDeviceEndsWhenThereIsEnough) {
  MapPlan plan = plan_of({kGiB, 4096, 1});
  SteadyReader reader(1'000);
  std::vector<MapRead> reads;
  ASSERT_TRUE(run_map(plan, reader, all_parts(3600), reads));
  EXPECT_LT(reads.size(), 140'000U);
}

TEST(MapSchedule, SharesOfSomePartsFillTheTime) {
  double sum = 0;
  for (const MapShare& s : map_shares({MapPart::size, MapPart::depth})) {
    sum += s.share;
  }
  EXPECT_DOUBLE_EQ(sum, 1);
}

}  // namespace
}  // namespace blksweep
