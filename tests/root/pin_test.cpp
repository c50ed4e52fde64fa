#include "node/pin/pin.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "base/fd.h"
#include "node/cache/cache.h"
#include "node/pin/daemon.h"
#include "os/block/blockdev.h"
#include "os/block/holders.h"
#include "os/memory/residency.h"
#include "os/process/process.h"
#include "support/ext4_loop.h"
#include "support/temp_dir.h"

namespace blksweep {
namespace {

using support::Ext4Loop;

constexpr std::size_t kPinnedFiles = 1200;

bool never() { return false; }

class PinOnExt4 : public testing::Test {
 protected:
  void SetUp() override {
    if (!disk_.ready()) {
      GTEST_SKIP() << disk_.why();
    }
    for (std::size_t i = 0; i < kPinnedFiles; ++i) {
      if (i % 100 == 0) {
        std::filesystem::create_directory(disk_.mount_point() + "/d" + std::to_string(i / 100));
      }
      std::ofstream(path(i)) << "some bytes";
    }
    // The loop device may be one that others have used before.
    loop_ = disk_.device().substr(disk_.device().rfind('/') + 1);
    std::ofstream("/sys/block/" + loop_ + "/queue/iostats") << "1";
    if (!drop_all()) {
      GTEST_SKIP() << "drop_caches is not writable";
    }
  }

  std::string path(std::size_t i) const {
    return disk_.mount_point() + "/d" + std::to_string(i / 100) + "/f" + std::to_string(i);
  }
  PinFiles files(std::size_t count = kPinnedFiles) const {
    return {count, [this](std::size_t i) { return path(i); }};
  }
  std::vector<std::string> paths() const {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < kPinnedFiles; ++i) {
      out.push_back(path(i));
    }
    return out;
  }
  // What the journal still holds of the metadata is not dropped otherwise.
  bool remount() const {
    const auto out = run_process({.argv = {"umount", disk_.mount_point()}});
    const auto in = run_process({.argv = {"mount", disk_.device(), disk_.mount_point()}});
    return out && out->ok() && in && in->ok();
  }
  std::uint64_t reads_of_opening() const {
    EXPECT_TRUE(drop_all());
    const std::uint64_t before = disk_stat(loop_)->reads;
    for (std::size_t i = 0; i < kPinnedFiles; ++i) {
      EXPECT_TRUE(Fd(::open(path(i).c_str(), O_RDONLY | O_CLOEXEC)));
    }
    return disk_stat(loop_)->reads - before;
  }

  Ext4Loop disk_;
  std::string loop_;
};

TEST_F(PinOnExt4, OpeningPinnedInodesReadsNothing) {
  ASSERT_TRUE(remount());
  EXPECT_GT(reads_of_opening(), 10U) << "without a pin it must read";
  const auto pin = InodePin::take(files(), never);
  ASSERT_TRUE(pin) << pin.error().text;
  EXPECT_EQ(reads_of_opening(), 0U);
}

TEST_F(PinOnExt4, LockedPagesStayAndOthersGo) {
  {
    const auto pin = PagePin::take(files(100), never);
    ASSERT_TRUE(pin) << pin.error().text;
    ASSERT_TRUE(drop_all());
    const Residency all = residency(paths());
    EXPECT_EQ(all.resident_pages, 100U);
  }
  ASSERT_TRUE(drop_all());
  EXPECT_EQ(residency(paths()).resident_pages, 0U);
}

TEST_F(PinOnExt4, TheMountIsFreeWhenAPinGoes) {
  {
    const auto pin = InodePin::take(files(), never);
    ASSERT_TRUE(pin);
    const Result<ProcessResult> busy = run_process({.argv = {"umount", disk_.mount_point()}});
    ASSERT_TRUE(busy);
    EXPECT_FALSE(busy->ok()) << "unmounted under a pin";
  }
  EXPECT_TRUE(remount());
}

PinOrder order_of(PinKind kind, const PinFiles& files) {
  return {.name = "p", .kind = kind, .files = files, .cost = {}, .roots = {"somewhere"}};
}

TEST_F(PinOnExt4, ADaemonHoldsUntilItIsEnded) {
  const TempDir run;
  const PinRegistry registry(run.path());
  std::uint64_t last = 0;
  const auto entry =
      start_pin_daemon(registry, order_of(PinKind::inodes, files()), never, [&](std::uint64_t n) {
        EXPECT_GE(n, last);
        last = n;
      });
  ASSERT_TRUE(entry) << entry.error().text;
  EXPECT_TRUE(entry->held);
  EXPECT_EQ(entry->count.files, kPinnedFiles);
  EXPECT_EQ(to_json_text(*registry.load("p")), to_json_text(*entry));
  EXPECT_EQ(reads_of_opening(), 0U);
  EXPECT_FALSE(start_pin_daemon(registry, order_of(PinKind::pages, files()), never, {}));
  ASSERT_TRUE(end_pin_daemon(registry, *entry));
  EXPECT_FALSE(is_alive(entry->daemon));
  EXPECT_TRUE(registry.names()->empty());
  EXPECT_TRUE(holders_of({disk_.mount_point()}).empty());
}

TEST_F(PinOnExt4, AKilledDaemonHoldsNothingAndItsEntryIsDead) {
  const TempDir run;
  const PinRegistry registry(run.path());
  for (const PinKind kind : {PinKind::inodes, PinKind::pages}) {
    const auto entry = start_pin_daemon(registry, order_of(kind, files()), never, {});
    ASSERT_TRUE(entry) << entry.error().text;
    kill_now(entry->daemon);
    ASSERT_TRUE(wait_for_end(entry->daemon, std::chrono::seconds(10)));
    EXPECT_TRUE(holders_of({disk_.mount_point()}).empty());
    EXPECT_FALSE(is_alive(registry.load("p")->daemon));
  }
  ASSERT_TRUE(end_pin_daemon(registry, *registry.load("p")));
  EXPECT_TRUE(registry.names()->empty());
}

TEST_F(PinOnExt4, ADaemonThatCannotPinLeavesNothing) {
  const TempDir run;
  const PinRegistry registry(run.path());
  PinOrder order = order_of(PinKind::inodes, {3, [](std::size_t) { return "/no/such/file"; }});
  const auto entry = start_pin_daemon(registry, std::move(order), never, {});
  ASSERT_FALSE(entry);
  EXPECT_NE(entry.error().text.find("/no/such/file"), std::string::npos);
  EXPECT_TRUE(registry.names()->empty());
  const auto stopped =
      start_pin_daemon(registry, order_of(PinKind::inodes, files()), [] { return true; }, {});
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().exit_code, Exit::interrupted);
  EXPECT_TRUE(registry.names()->empty());
}

}  // namespace
}  // namespace blksweep
