// Dropping and looking where it takes root: mounts inside the tree, overlay, the whole node.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "node/cache/drop.h"
#include "node/cache/warm.h"
#include "os/memory/residency.h"
#include "support/ext4_loop.h"

namespace blksweep {
namespace {

using support::Ext4Loop;

// ext4 inodes in memory, as the kernel's allocator counts them; 0: not told.
std::uint64_t ext4_inodes() {
  std::ifstream slabs("/proc/slabinfo");
  for (std::string line; std::getline(slabs, line);) {
    std::istringstream words(line);
    std::string name;
    std::uint64_t count = 0;
    if (words >> name >> count && name == "ext4_inode_cache") {
      return count;
    }
  }
  return 0;
}

class CacheDrop : public testing::Test {
 protected:
  void SetUp() override {
    if (!disk_.ready()) {
      GTEST_SKIP() << disk_.why();
    }
  }
  std::string folder(const std::string& name) const {
    const std::string path = disk_.mount_point() + "/" + name;
    std::filesystem::create_directory(path);
    return path;
  }
  Ext4Loop disk_;
};

TEST_F(CacheDrop, ATreeIsWrittenAndThenGone) {
  const std::string data = folder("data");
  for (std::size_t i = 0; i < 200; ++i) {  // more than are written one by one
    disk_.write("data/f" + std::to_string(i), 1 + i * 997, i);
  }
  const auto files = FileSet::of(data);
  ASSERT_TRUE(files);
  const TreeDrop d = drop_tree(*files, false);
  EXPECT_EQ(d.before.files, 200U);
  EXPECT_EQ(d.before.share(), 1.0);
  EXPECT_EQ(d.after.resident_pages, 0U);
  EXPECT_EQ(d.after.bytes, d.before.bytes);
  EXPECT_EQ(d.after.dirty_pages.value_or(0), 0U);
  EXPECT_EQ(d.stayed.files, 0U);
  EXPECT_EQ(d.unwritten, 0U) << d.first_unwritten;
}

// Flushes that were asked of a disk (Documentation/block/stat.rst).
std::uint64_t flushes(const std::string& device) {
  std::ifstream in("/sys/block/" + device.substr(5) + "/stat");
  const std::vector<std::uint64_t> fields{std::istream_iterator<std::uint64_t>(in), {}};
  return fields.size() > 15 ? fields[15] : 0;
}

// fsync(2) of a clean file flushes the disk's cache all the same.
TEST_F(CacheDrop, CleanFilesCostTheDiskNoFlush) {
  const std::string data = folder("data");
  for (std::size_t i = 0; i < 100; ++i) {
    disk_.write("data/f" + std::to_string(i), 5000, i);
  }
  const auto files = FileSet::of(data);
  ASSERT_TRUE(files);
  ::sync();
  const std::uint64_t before = flushes(disk_.device());
  ASSERT_GT(before, 0U);
  const TreeDrop d = drop_tree(*files, false);
  EXPECT_EQ(d.before.share(), 1.0);
  EXPECT_EQ(d.after.resident_pages, 0U);
  EXPECT_LT(flushes(disk_.device()), before + 50);
}

TEST_F(CacheDrop, OtherFilesystemsInsideAreLeftAlone) {
  const std::string data = folder("data");
  disk_.write("data/f", 5000, 1);
  const std::string inner = folder("data/inner");
  if (::mount("none", inner.c_str(), "tmpfs", 0, "size=1m") != 0) {
    GTEST_SKIP() << "cannot mount a tmpfs";
  }
  std::ofstream(inner + "/memory") << "bytes";
  const auto files = FileSet::of(data);
  ::umount(inner.c_str());
  ASSERT_TRUE(files);
  EXPECT_EQ(files->size(), 1U);
  EXPECT_EQ(files->filesystems_left(), 1U);
}

// cachestat(2) sees the overlay's own mapping, which is empty (6.18).
TEST_F(CacheDrop, AFileOnOverlayIsSeenWhereItsPagesAre) {
  for (const char* name : {"low", "up", "work", "all"}) {
    folder(name);
  }
  disk_.write("low/f", 1 << 20, 1);
  ::sync();  // overlay's fsync leaves out the layers below, which nobody writes to
  const std::string top = disk_.mount_point();
  const std::string options =
      "lowerdir=" + top + "/low,upperdir=" + top + "/up,workdir=" + top + "/work";
  if (::mount("none", (top + "/all").c_str(), "overlay", 0, options.c_str()) != 0) {
    GTEST_SKIP() << "cannot mount an overlay";
  }
  {
    const auto files = FileSet::of(top + "/all");
    ASSERT_TRUE(files);
    const TreeDrop d = drop_tree(*files, false);
    EXPECT_EQ(d.before.share(), 1.0);
    EXPECT_EQ(d.after.share(), 0.0);
    const std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> at{0};
    EXPECT_EQ(warm_pieces(warm_job(*files, stop, at), stop, at).failed, 0U);
    const Fd fd(::open((top + "/all/f").c_str(), O_RDONLY));
    EXPECT_EQ(residency_of(fd.get())->share(), 1.0);
  }
  ::umount((top + "/all").c_str());
}

TEST_F(CacheDrop, TheNodeShowsThatItsFilePagesWent) {
  disk_.write("f", 64 << 20, 1);
  const NodeCaches before = node_caches();
  ASSERT_TRUE(drop_node(DropKind::pages));
  const NodeCaches after = node_caches();
  ASSERT_TRUE(before.file_pages && after.file_pages);
  EXPECT_LT(*after.file_pages + (32 << 20), *before.file_pages);
  EXPECT_TRUE(after.inodes && after.dentries && after.reclaimable_slab && after.mapped);
}

// Of files that were just made, the journal remembers the blocks of their inodes. ext4's own
// threads read and write now and then behind a drop: then other files are made, and dropped once
// more.
TEST_F(CacheDrop, NoBlockOfMetadataIsLeftForASecondDrop) {
  const Fd device(::open(disk_.device().c_str(), O_RDONLY | O_CLOEXEC));
  const auto held = [&device] {
    const auto r = residency_of(device.get(), {0, 256U << 20}, ResidencyMethod::cachestat);
    return r ? r->resident_pages : 0;
  };
  int equal = 0;
  for (int round = 0; round < 6 && equal < 3; ++round) {
    const std::string many = "many" + std::to_string(round);
    folder(many);
    for (std::size_t f = 0; f < 500; ++f) {
      std::ofstream(disk_.mount_point() + "/" + many + "/" + std::to_string(f)) << 'x';
    }
    EXPECT_GT(held(), 30U);
    ASSERT_TRUE(drop_node(DropKind::all));
    const std::uint64_t first = held();
    ASSERT_TRUE(drop_node(DropKind::all));
    equal += first == held() ? 1 : 0;
    EXPECT_LT(first, 8U);  // a superblock, and the journal's
  }
  EXPECT_EQ(equal, 3);
}

// Freed later, they would be freed in the run: its first milliseconds are then not its own.
// Programs beside us remove files, too, and their inodes are among these: then once more.
TEST_F(CacheDrop, InodesAreFreedWhenTheDropReturns) {
  constexpr std::uint64_t kMany = 3000;
  std::uint64_t freed_later = kMany;
  for (int again = 0; again < 4 && freed_later >= kMany / 10; ++again) {
    const std::string many = "many" + std::to_string(again);
    folder(many);
    for (std::uint64_t f = 0; f < kMany; ++f) {
      std::ofstream(disk_.mount_point() + "/" + many + "/" + std::to_string(f)) << 'x';
    }
    const std::uint64_t before = ext4_inodes();
    if (before < kMany) {
      GTEST_SKIP() << "/proc/slabinfo does not count the inodes of ext4";
    }
    ASSERT_TRUE(drop_node(DropKind::all));
    const std::uint64_t after = ext4_inodes();
    EXPECT_LT(after + kMany / 2, before);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    const std::uint64_t rest = ext4_inodes();
    freed_later = after - std::min(after, rest);
  }
  EXPECT_LT(freed_later, kMany / 10);
}

}  // namespace
}  // namespace blksweep
