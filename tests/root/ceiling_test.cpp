#include "experiment/ceiling.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "os/block/blockdev.h"
#include "os/block/device_layers.h"
#include "os/block/layer_facts.h"
#include "os/process/process.h"
#include "support/ext4_loop.h"
#include "support/flat_catalog.h"

namespace blksweep {
namespace {

using support::Ext4Loop;
using support::FlatCatalog;

class CeilingOnExt4 : public testing::Test {
 protected:
  void SetUp() override {
    if (!disk_.ready()) {
      GTEST_SKIP() << disk_.why();
    }
    device_ = *block_device_of(disk_.device());
  }
  Ceiling measured(const FlatCatalog& files) {
    CeilingSettings settings;
    settings.device_node = disk_.device();
    settings.round = 4;
    return measure_ceiling(DataMap(files.view(), kPageBytes, device_.size), settings);
  }

  Ext4Loop disk_;
  BlockDevice device_;
};

// What was read is counted by the kernel, too: the data's bytes, once for each figure, and no more.
TEST_F(CeilingOnExt4, ReadsTheDataAndNothingElse) {
  FlatCatalog files("/data");
  for (std::uint64_t i = 0; i < 40; ++i) {
    files.add("f" + std::to_string(i), 24576 + (i % 5) * 409600, i * (std::uint64_t{6} << 20));
  }
  const std::uint64_t bytes = DataMap(files.view(), kPageBytes, device_.size).bytes();
  const Result<DiskStat> before = disk_stat(device_.disk);
  const Ceiling c = measured(files);
  const Result<DiskStat> after = disk_stat(device_.disk);
  ASSERT_TRUE(before && after);
  ASSERT_EQ(c.records.size(), 3U);
  EXPECT_TRUE(c.warnings.empty());
  EXPECT_EQ(c.records[0].kind, "sequential");
  EXPECT_EQ(c.records[0].request_bytes, 1U << 20);
  EXPECT_EQ(c.records[1].kind, "sequential");
  EXPECT_EQ(c.records[2].kind, "random");
  EXPECT_EQ(c.records[2].request_bytes, 4096U);
  for (const CeilingRecord& r : c.records) {
    EXPECT_EQ(r.bytes, bytes);
    EXPECT_EQ(r.round, 4U);
    EXPECT_GT(r.started_unix_ns, 0);
    EXPECT_GT(r.elapsed_ns, 0);
    EXPECT_NEAR(r.bytes_per_s * static_cast<double>(r.elapsed_ns) / 1e9,
                static_cast<double>(r.bytes), 1);
    EXPECT_NEAR(r.bytes_per_s / r.reads_per_s,
                static_cast<double>(r.bytes) / static_cast<double>(r.reads), 1e-3);
  }
  const std::uint64_t read = (after->read_sectors - before->read_sectors) * kSectorBytes;
  EXPECT_GE(read, 3 * bytes);
  EXPECT_LT(read, 3 * bytes + (std::uint64_t{4} << 20)) << "beside the filesystem's own reads";
}

// A loop device on another device is read through that one's page cache, as one on a file is.
TEST_F(CeilingOnExt4, PagesOfADeviceBelowAreEvicted) {
  const auto attached =
      run_process({.argv = {"losetup", "--find", "--show", "--direct-io=off", disk_.device()}});
  ASSERT_TRUE(attached && attached->ok());
  const std::string upper = attached->out.substr(0, attached->out.find('\n'));
  FlatCatalog files("/data");
  for (std::uint64_t i = 0; i < 20; ++i) {
    files.add("f" + std::to_string(i), 1 << 20, i << 20);
  }
  CeilingSettings settings;
  settings.device_node = upper;
  settings.cached_files = cached_backing_files(block_device_of(upper)->disk);
  EXPECT_EQ(settings.cached_files, std::vector<std::string>{disk_.device()});
  const DataMap data(files.view(), kPageBytes, device_.size);
  const Result<DiskStat> before = disk_stat(device_.disk);
  const Ceiling c = measure_ceiling(data, settings);
  const Result<DiskStat> after = disk_stat(device_.disk);
  EXPECT_TRUE(run_process({.argv = {"losetup", "--detach", upper}}));
  ASSERT_TRUE(before && after);
  EXPECT_EQ(c.records.size(), 3U);
  EXPECT_GE((after->read_sectors - before->read_sectors) * kSectorBytes, 3 * data.bytes());
}

// The image of a loop device may have been deleted: its pages stay, and cannot be evicted by name.
TEST_F(CeilingOnExt4, NoFigureIsOfACacheBelowThatCannotBeEmptied) {
  FlatCatalog files("/data");
  files.add("f", 1 << 20, 0);
  CeilingSettings settings;
  settings.device_node = disk_.device();
  settings.cached_files = {disk_.device(), "/no/image (deleted)"};
  const Ceiling c = measure_ceiling(DataMap(files.view(), kPageBytes, device_.size), settings);
  EXPECT_TRUE(c.records.empty());
  ASSERT_EQ(c.warnings.size(), 1U);
  EXPECT_NE(c.warnings[0].find("open /no/image (deleted)"), std::string::npos) << c.warnings[0];
}

TEST_F(CeilingOnExt4, TheStackUnderALoopDeviceIsDescribed) {
  const std::string disk = device_.disk;
  const auto facts = layer_facts(disk);
  const auto has = [&](const LayerFact& f) { return std::ranges::find(facts, f) != facts.end(); };
  EXPECT_TRUE(has({disk, "kind", "loop"}));
  EXPECT_TRUE(has({disk, "direct_io", "1"}));
  EXPECT_TRUE(has({disk, "rotational", "0"}) || has({disk, "rotational", "1"}));
  const std::string beneath = mount_by_text(disk_facts(disk).backing_file).filesystem;
  EXPECT_EQ(caches_beneath(disk).empty(), !is_memory(beneath)) << "the image may be on tmpfs";
  EXPECT_TRUE(cached_backing_files(disk).empty());
}

}  // namespace
}  // namespace blksweep
