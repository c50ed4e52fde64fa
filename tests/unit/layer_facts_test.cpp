#include "os/block/layer_facts.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/temp_dir.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

// A /sys of a test's own.
class FakeLayers {
 public:
  void file(const std::string& path, const std::string& text) const {
    const fs::path at = dir_.path("sys/" + path);
    fs::create_directories(at.parent_path());
    std::ofstream(at) << text << '\n';
  }
  void link(const std::string& from, const std::string& to) const {
    const fs::path at = dir_.path("sys/" + from);
    fs::create_directories(at.parent_path());
    fs::create_directories(dir_.path("sys/" + to));
    fs::create_directory_symlink(dir_.path("sys/" + to), at);
  }
  std::string root() const { return dir_.path("sys"); }

 private:
  TempDir dir_;
};

std::string value(const std::vector<LayerFact>& facts, const std::string& name) {
  for (const LayerFact& f : facts) {
    if (f.name == name) {
      return f.value;
    }
  }
  return "-";
}

TEST(LayerFacts, OfAnNvmeDisk) {
  const FakeLayers sys;
  const std::string pci = "devices/pci0000:00/0000:00:1d.0/0000:03:00.0";
  sys.file("devices/pci0000:00/0000:00:1d.0/current_link_speed", "16.0 GT/s PCIe");  // a bridge
  sys.file(pci + "/current_link_speed", "8.0 GT/s PCIe");
  sys.file(pci + "/current_link_width", "4");
  sys.file(pci + "/numa_node", "1");
  sys.file(pci + "/nvme/nvme0/model", "Fast 9000   ");
  sys.file(pci + "/nvme/nvme0/serial", "  S1  ");
  sys.file(pci + "/nvme/nvme0/firmware_rev", "FW7");
  sys.link("block/nvme0n1/device", pci + "/nvme/nvme0");
  sys.file("block/nvme0n1/queue/write_cache", "write back");
  sys.file("block/nvme0n1/queue/rotational", "0");
  sys.file("block/nvme0n1/queue/scheduler", "[none] mq-deadline kyber");
  sys.file("block/nvme0n1/wwid", "eui.1");
  const auto facts = facts_of_disk("nvme0n1", sys.root());
  EXPECT_EQ(value(facts, "model"), "Fast 9000");
  EXPECT_EQ(value(facts, "serial"), "S1");
  EXPECT_EQ(value(facts, "firmware"), "FW7");
  EXPECT_EQ(value(facts, "wwid"), "eui.1");
  EXPECT_EQ(value(facts, "write_cache"), "write back");
  EXPECT_EQ(value(facts, "rotational"), "0");
  EXPECT_EQ(value(facts, "scheduler"), "none") << "modules that come and go change the rest";
  EXPECT_EQ(value(facts, "numa_node"), "1");
  EXPECT_EQ(value(facts, "pcie_speed"), "8.0 GT/s PCIe");
  EXPECT_EQ(value(facts, "pcie_width"), "4");
  EXPECT_EQ(value(facts, "direct_io"), "-") << "what there is not is left out";
}

TEST(LayerFacts, OfLoopMapperAndRaid) {
  const FakeLayers sys;
  sys.file("block/loop7/loop/backing_file", "/images/a");
  sys.file("block/loop7/loop/dio", "0");
  sys.file("block/loop7/loop/offset", "1048576");
  const auto loop = facts_of_disk("loop7", sys.root());
  EXPECT_EQ(value(loop, "backing_file"), "/images/a");
  EXPECT_EQ(value(loop, "direct_io"), "0");
  EXPECT_EQ(value(loop, "offset"), "1048576");
  EXPECT_NE(value(loop, "filesystem"), "-") << "of its backing file";
  sys.file("block/dm-3/dm/name", "vg-data");
  sys.file("block/dm-3/dm/uuid", "LVM-x");
  sys.link("block/dm-3/slaves/sdb", "block/sdb");
  sys.link("block/dm-3/slaves/sda2", "block/sda/sda2");
  const auto mapper = facts_of_disk("dm-3", sys.root());
  EXPECT_EQ(value(mapper, "mapper_name"), "vg-data");
  EXPECT_EQ(value(mapper, "mapper_uuid"), "LVM-x");
  EXPECT_EQ(value(mapper, "members"), "sda2 sdb");
  sys.file("block/md0/md/level", "raid5");
  EXPECT_EQ(value(facts_of_disk("md0", sys.root()), "raid_level"), "raid5");
}

TEST(LayerFacts, WhatChangesByItselfDoesNotLast) {
  const std::vector<LayerFact> kept{{"nvme0n1", "model", "A"}, {"nvme0n1", "firmware", "1"}};
  EXPECT_EQ(lasting({kept[0], {"nvme0n1", "pcie_speed", "8.0 GT/s"}, kept[1]}), kept);
}

TEST(LayerFacts, DifferenceNamesWhatChanged) {
  const std::vector<LayerFact> before{{"loop0", "direct_io", "1"}, {"vda", "model", "A"}};
  EXPECT_EQ(difference(before, before), "");
  EXPECT_EQ(difference(before, {{"loop0", "direct_io", "0"}, {"vda", "model", "A"}}),
            "loop0 direct_io: 1, now 0");
  EXPECT_EQ(difference(before, {{"loop0", "direct_io", "1"}}), "vda model: A, now nothing");
  EXPECT_EQ(difference({{"loop0", "direct_io", "1"}}, before), "vda model: nothing, now A");
  EXPECT_EQ(difference({{"a", "pcie_speed", "2.5 GT/s"}}, {{"a", "pcie_speed", "8.0 GT/s"}}), "")
      << "a link that saves power changes by itself";
}

}  // namespace
}  // namespace blksweep
