// Latency maps in the database come back read by read.
#include <gtest/gtest.h>

#include <tuple>

#include "store/result_reader.h"
#include "store/result_store.h"
#include "support/temp_dir.h"

namespace blksweep {
namespace {

auto values(const MapRead& r) {
  return std::tuple(r.begin_ns, r.latency_ns, r.offset, r.distance, r.bytes, r.depth, r.part);
}

MapRecord demo_map() {
  MapRecord record;
  record.map.device = "/dev/sdz";
  record.map.size = std::uint64_t{1} << 40;
  record.map.rotational = true;
  record.map.seed = UINT64_MAX;
  record.map.interrupted = true;
  record.seconds = 2.5;
  record.warnings = {"mounted", "busy"};
  record.rotation_ns = 8'333'333.3;
  record.curves = {{"seek_forward", 4096, 600'000}};
  record.map.reads = {
      {1, 10, std::uint64_t{1} << 39, -4096, 4096, 1, MapPart::distance},
      {2, 20, 0, INT64_MAX, 512, 1, MapPart::distance},
      {3, INT64_MAX, UINT64_MAX, 0, UINT32_MAX, 64, MapPart::depth},
  };
  return record;
}

TEST(MapStore, GivesBackWhatWasMeasured) {
  const TempDir dir;
  const std::string path = dir.path() + "/maps.db";
  const MapRecord record = demo_map();
  {
    auto store = ResultStore::open(path);
    ASSERT_TRUE(store);
    ASSERT_TRUE(store->add_map(record));
    ASSERT_TRUE(store->add_map({}));
  }
  auto reader = ResultReader::open(path);
  ASSERT_TRUE(reader);
  const auto maps = reader->maps();
  ASSERT_TRUE(maps) << maps.error().message();
  ASSERT_EQ(maps->size(), 2U);
  const MapRecord& stored = maps->front().record;
  EXPECT_EQ(stored.map.device, "/dev/sdz");
  EXPECT_EQ(stored.map.seed, UINT64_MAX);
  EXPECT_TRUE(stored.map.interrupted);
  EXPECT_EQ(stored.seconds, 2.5);
  EXPECT_EQ(stored.rotation_ns, 8'333'333.3);
  EXPECT_EQ(stored.path_ns, std::nullopt) << "unknown is not 0";
  EXPECT_EQ(stored.warnings, record.warnings);
  const auto reads = reader->map_reads(maps->front().id);
  ASSERT_TRUE(reads) << reads.error().message();
  ASSERT_EQ(reads->size(), record.map.reads.size());
  for (std::size_t i = 0; i < reads->size(); ++i) {
    EXPECT_EQ(values((*reads)[i]), values(record.map.reads[i])) << i;
  }
  EXPECT_TRUE(reader->map_reads(maps->back().id)->empty());
}

}  // namespace
}  // namespace blksweep
