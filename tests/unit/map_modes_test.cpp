#include "model/map_modes.h"

#include <gtest/gtest.h>

#include "support/map_rig.h"

namespace blksweep {
namespace {

LatencyMap map_of(const ModelSpec& model, double outliers) {
  MapRigSettings s;
  s.model = model;
  s.seconds = 20;
  s.noise = {5, 10, outliers};
  return map_of_model(s);
}

// Above `from` the device answers without a medium.
void trim(LatencyMap& map, std::uint64_t from) {
  for (MapRead& r : map.reads) {
    r.latency_ns = r.offset >= from ? 12'000 + r.latency_ns / 50 : r.latency_ns;
  }
}

TEST(TwoModes, OfADeviceThatIsTrimmedInPart) {
  LatencyMap map = map_of(test_flash(), 0.01);
  EXPECT_FALSE(two_modes(map)) << "written all over";
  trim(map, map.size / 4 * 3);
  const auto modes = two_modes(map);
  ASSERT_TRUE(modes);
  EXPECT_EQ(modes->places, 48U);
  EXPECT_EQ(modes->fast_places, 12U);
  EXPECT_LT(modes->fast_ns, 30'000);
  EXPECT_GT(modes->slow_ns, 60'000);
  trim(map, 0);
  EXPECT_FALSE(two_modes(map)) << "all of it trimmed: one mode";
}

TEST(TwoModes, AreNotWhatAHostDoesToSomeReads) {
  for (const double outliers : {0.0, 0.05, 0.2}) {
    EXPECT_FALSE(two_modes(map_of(test_flash(), outliers))) << outliers;
    EXPECT_FALSE(two_modes(map_of(test_disk(), outliers))) << outliers;
  }
}

TEST(TwoModes, AreUnknownWithoutVisits) {
  LatencyMap map = map_of(test_flash(), 0);
  trim(map, map.size / 2);
  std::erase_if(map.reads, [](const MapRead& r) { return r.part == MapPart::revisit; });
  EXPECT_FALSE(two_modes(map));
}

}  // namespace
}  // namespace blksweep
