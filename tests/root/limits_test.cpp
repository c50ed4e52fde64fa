// Limits as the kernel keeps them. Nothing here asserts how fast something is, only that a limit
// cannot be exceeded: a minimum of time, a maximum of cache.
#include "node/limits/limits.h"
#include "base/units.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <filesystem>

#include "base/clock.h"
#include "base/fd.h"
#include "base/memory.h"
#include "node/cache/cache.h"
#include "os/block/blockdev.h"
#include "os/file/file.h"
#include "support/ext4_loop.h"
#include "support/loop_fs.h"
#include "support/temp_dir.h"

namespace blksweep {
namespace {

using support::Ext4Loop;

std::string membership() { return whole_text("/proc/self/cgroup"); }

// Groups that tests of this process left anywhere.
std::size_t groups_of_ours() {
  std::size_t n = 0;
  const std::string ours = "blksweep-" + std::to_string(::getpid());
  std::error_code ec;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(
           "/sys/fs/cgroup", std::filesystem::directory_options::skip_permission_denied, ec)) {
    n += entry.path().filename().string().starts_with(ours) ? 1 : 0;
  }
  return n;
}

// Reads a file once, in pieces of 1 MiB; the nanoseconds it took, or -1.
std::int64_t read_all(const std::string& path, int flags) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags));
  Result<PageBuffer> buffer = PageBuffer::allocate({kMiB});
  if (!fd || !buffer) {
    return -1;
  }
  const std::int64_t begin = now_ns();
  ssize_t n = 1;
  while (n > 0) {
    n = ::read(fd.get(), buffer->data(), buffer->size());
  }
  return n < 0 ? -1 : now_ns() - begin;
}

// A Borrowing with a journal of its own, and everything as it was at the end.
class Limits : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) {
      GTEST_SKIP() << "needs root to make cgroups";
    }
    before_ = membership();
    Result<Borrowing> begun = Borrowing::begin(false, {.run_folder = run_.path()});
    ASSERT_TRUE(begun) << begun.error().text;
    borrowing_ = std::make_unique<Borrowing>(std::move(*begun));
  }
  void TearDown() override {
    if (borrowing_ == nullptr) {
      return;
    }
    const Result<> restored = borrowing_->restore();
    EXPECT_TRUE(restored) << restored.error().text;
    EXPECT_EQ(membership(), before_);
    EXPECT_EQ(groups_of_ours(), 0U);
  }
  static bool has(Controller controller) { return cgroup_place(controller).version != 0; }
  Borrowing& borrowing() { return *borrowing_; }

 private:
  TempDir run_;
  std::string before_;
  std::unique_ptr<Borrowing> borrowing_;
};

TEST_F(Limits, OfNothingDoNothing) {
  const std::string before = membership();
  Result<RunCgroup> none = RunCgroup::create({}, borrowing());
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->enter());
  EXPECT_EQ(membership(), before);
  EXPECT_TRUE(none->still_set());
  none->sample();
  EXPECT_TRUE(none->leave());
  EXPECT_EQ(none->use().cache_bytes, 0U);
  EXPECT_EQ(none->use().cache_peak_bytes, 0U);
  EXPECT_FALSE(none->use().memory_peak_bytes);
}

TEST_F(Limits, BoundThePageCache) {
  const Ext4Loop disk;
  if (!disk.ready() || !has(Controller::memory)) {
    GTEST_SKIP() << (disk.ready() ? cgroup_summary() : disk.why());
  }
  const std::string path = disk.write("f", 160 * kMiB, 1);
  ASSERT_TRUE(drop_all());
  const std::string before = membership();
  Result<RunCgroup> group = RunCgroup::create({.memory = Bytes{64 * kMiB}}, borrowing());
  ASSERT_TRUE(group) << group.error().text;
  ASSERT_EQ(group->limits().size(), 1U);
  EXPECT_EQ(group->limits()[0].got, std::to_string(64 * kMiB));
  ASSERT_TRUE(group->enter());
  EXPECT_NE(membership(), before);
  ASSERT_GT(read_all(path, 0), 0);
  group->sample();
  ASSERT_TRUE(group->leave());
  EXPECT_EQ(membership(), before);
  const CgroupUse use = group->use();
  EXPECT_LE(use.cache_peak_bytes, 64 * kMiB * 105 / 100);
  EXPECT_GT(use.cache_peak_bytes, 32 * kMiB) << "the cache is not charged to the group";
  EXPECT_GT(use.limit_hits.value_or(0), 0U);
  EXPECT_FALSE(use.killed);
  const Residency cached = residency(std::vector<std::string>{path});
  EXPECT_LE(cached.resident_bytes, 64 * kMiB * 105 / 100);
}

TEST_F(Limits, GoWithTheObjectAlsoWhenNobodyLeft) {
  if (!has(Controller::memory)) {
    GTEST_SKIP() << cgroup_summary();
  }
  const std::string before = membership();
  {
    Result<RunCgroup> group = RunCgroup::create({.memory = Bytes{64 * kMiB}}, borrowing());
    ASSERT_TRUE(group && group->enter());
  }
  EXPECT_EQ(membership(), before);
}

TEST_F(Limits, ThatNobodyEnteredHaveNoCacheAndMoveNobodyBack) {
  if (!has(Controller::memory)) {
    GTEST_SKIP() << cgroup_summary();
  }
  Result<RunCgroup> other = RunCgroup::create({.memory = Bytes{64 * kMiB}}, borrowing());
  {
    Result<RunCgroup> group = RunCgroup::create({.memory = Bytes{32 * kMiB}}, borrowing());
    ASSERT_TRUE(group && other && other->enter());
    group->sample();
    EXPECT_EQ(group->use().cache_bytes, 0U);
    EXPECT_EQ(group->use().cache_peak_bytes, 0U);
  }
  EXPECT_NE(membership().find("blksweep-"), std::string::npos) << "still in the other";
  ASSERT_TRUE(other->leave());
}

TEST_F(Limits, CanBeHadTwiceInOneProcess) {
  if (!has(Controller::memory)) {
    GTEST_SKIP() << cgroup_summary();
  }
  Result<RunCgroup> first = RunCgroup::create({.memory = Bytes{64 * kMiB}}, borrowing());
  Result<RunCgroup> second = RunCgroup::create({.memory = Bytes{32 * kMiB}}, borrowing());
  ASSERT_TRUE(first && second);
  EXPECT_TRUE(first->enter() && first->leave());
  EXPECT_TRUE(second->enter() && second->leave());
}

// What the limit is for, by a device that is reached through `path`.
void expect_slow(const std::string& path, const std::string& on, Borrowing& borrowing) {
  constexpr std::uint64_t kRate = 20'000'000;
  const Result<BlockDevice> device = block_device_of(on);
  ASSERT_TRUE(device) << device.error().text;
  const Result<std::uint64_t> size = file_size(open_readonly(path)->get(), path);
  Result<RunCgroup> group = RunCgroup::create(
      {.read_bytes_per_s = kRate, .read_iops = 100'000, .disk = device->whole_disk}, borrowing);
  ASSERT_TRUE(group) << group.error().text;
  ASSERT_EQ(group->limits().size(), 2U);
  EXPECT_EQ(group->limits()[0].got, std::to_string(kRate));
  EXPECT_EQ(group->limits()[1].got, "100000");
  for (const int flags : {O_DIRECT, 0}) {
    ASSERT_TRUE(drop_all());
    ASSERT_TRUE(group->enter());
    const std::int64_t took = read_all(path, flags);
    ASSERT_TRUE(group->leave());
    // Four fifths: the kernel grants the first slice of time beforehand.
    const auto least = static_cast<std::int64_t>(*size * 1'000'000'000 / kRate * 4 / 5);
    EXPECT_GE(took, least) << (flags != 0 ? "direct" : "buffered");
  }
  EXPECT_TRUE(group->still_set());
}

TEST_F(Limits, SlowTheReadsOfALoopDevice) {
  const Ext4Loop disk;
  if (!disk.ready() || !has(Controller::io)) {
    GTEST_SKIP() << (disk.ready() ? cgroup_summary() : disk.why());
  }
  expect_slow(disk.write("f", 24'000'000 / 4096 * 4096, 2), disk.mount_point(), borrowing());
}

TEST_F(Limits, OfAPartitionAreThoseOfItsDisk) {
  LoopFs disk;
  const Result<> made = disk.make({.mkfs = "mkfs.ext4 -q", .mount_options = "", .partition = true});
  if (!made || !has(Controller::io)) {
    GTEST_SKIP() << (made ? cgroup_summary() : made.error().text);
  }
  std::ofstream(disk.path("f")) << std::string(24'000'000 / 4096 * 4096, 'x');
  expect_slow(disk.path("f"), disk.path(), borrowing());
}

class Mapped {  // a linear device of the device mapper over a disk
 public:
  explicit Mapped(const std::string& below) {
    ready_ = said("dmsetup create " + name_ + " --table \"0 $(blockdev --getsz " + below +
                  ") linear " + below + " 0\" >/dev/null 2>&1") == 0;
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  ~Mapped() {
    if (ready_) {
      said("dmsetup remove --retry " + name_ + " >/dev/null 2>&1");
    }
  }
  bool ready() const { return ready_; }
  std::string node() const { return "/dev/mapper/" + name_; }

 private:
  static int said(const std::string& command) { return ::system(command.c_str()); }
  std::string name_ = "blksweep-test-" + std::to_string(::getpid());
  bool ready_ = false;
};

TEST_F(Limits, SlowTheReadsOfAStackedDevice) {
  const Ext4Loop below("32M");  // for its loop device: the mapper takes what is not mounted
  if (!below.ready() || !has(Controller::io)) {
    GTEST_SKIP() << (below.ready() ? cgroup_summary() : below.why());
  }
  ASSERT_EQ(::system(("umount " + below.mount_point()).c_str()), 0);
  const Mapped mapped(below.device());
  if (!mapped.ready()) {
    GTEST_SKIP() << "no device mapper here (dmsetup create failed)";
  }
  expect_slow(mapped.node(), mapped.node(), borrowing());
}

TEST_F(Limits, AreMissedWhenSomebodyTakesThemAway) {
  if (!has(Controller::memory)) {
    GTEST_SKIP() << cgroup_summary();
  }
  Result<RunCgroup> group = RunCgroup::create({.memory = Bytes{64 * kMiB}}, borrowing());
  ASSERT_TRUE(group) << group.error().text;
  EXPECT_TRUE(group->still_set());
  const CgroupPlace place = cgroup_place(Controller::memory);
  const std::string parent = place.version == 1 || place.own == place.mount
                                 ? place.own
                                 : std::filesystem::path(place.own).parent_path().string();
  for (const auto& entry : std::filesystem::directory_iterator(parent)) {
    if (entry.path().filename().string().starts_with("blksweep-" + std::to_string(::getpid()))) {
      std::ofstream(entry.path() / (place.version == 1 ? "memory.limit_in_bytes" : "memory.max"))
          << "104857600";
    }
  }
  const Result<> missed = group->still_set();
  ASSERT_FALSE(missed);
  EXPECT_NE(missed.error().text.find("104857600 at the end"), std::string::npos)
      << missed.error().text;
}

TEST_F(Limits, ThatCannotBeMadeLeaveNothing) {
  if (!has(Controller::io)) {
    GTEST_SKIP() << cgroup_summary();
  }
  // A device that does not exist: the group is made before the kernel refuses.
  const Result<RunCgroup> group = RunCgroup::create(
      {.read_bytes_per_s = 1'000'000, .disk = makedev(511, 1048000)}, borrowing());
  ASSERT_FALSE(group);
  EXPECT_EQ(group.error().exit_code, Exit::unsupported) << group.error().text;
}

}  // namespace
}  // namespace blksweep
