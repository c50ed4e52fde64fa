// Where the probe says that requests come from: who made them, and into which memory they go.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>

#include "base/fd.h"
#include "os/block/blockdev.h"
#include "probe/block_probe.h"
#include "support/bare_loop.h"

namespace blksweep {
namespace {

constexpr std::size_t kOriginRead = 4096;

class ProbeOrigins : public testing::Test {
 protected:
  void SetUp() override {
    if (!device_) {
      GTEST_SKIP() << "needs root and loop devices: " << device_.error().message();
    }
  }

  ProbeReport watch(const ProbeSettings& settings, const std::function<void()>& work) {
    auto probe = open_block_probe(device_->number(), settings);
    if (!probe) {
      ADD_FAILURE() << probe.error().message();
      return {};
    }
    EXPECT_TRUE((*probe)->start());
    work();
    auto report = (*probe)->stop();
    EXPECT_TRUE(report) << report.error().message();
    return report ? std::move(*report) : ProbeReport{};
  }

  void read_at(off_t offset, bool direct) const {
    const Fd fd(::open(("/dev/" + device_->name()).c_str(),
                       O_RDONLY | O_CLOEXEC | (direct ? O_DIRECT : 0)));
    const std::unique_ptr<void, void (*)(void*)> memory(std::aligned_alloc(4096, kOriginRead),
                                                        &std::free);
    EXPECT_EQ(::pread(fd.get(), memory.get(), kOriginRead, offset),
              static_cast<ssize_t>(kOriginRead));
  }

  // Returns the child's number.
  std::uint32_t read_in_a_child(off_t offset) const {
    const pid_t child = ::fork();
    if (child == 0) {
      read_at(offset, true);
      ::_exit(0);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return static_cast<std::uint32_t>(child);
  }

  static bool has_warning(const ProbeReport& r, const char* text) {
    return std::ranges::any_of(
        r.warnings, [&](const std::string& w) { return w.find(text) != std::string::npos; });
  }

  Result<LoopDevice> device_ = LoopDevice::make();
};

TEST_F(ProbeOrigins, NameTheProcessAndTheMemory) {
  std::uint32_t child = 0;
  const ProbeReport r = watch({.origins = true}, [&] {
    read_at(0, true);
    child = read_in_a_child(1 << 20);
    read_at(2 << 20, false);
  });
  EXPECT_TRUE(r.origins);
  ASSERT_GE(r.issues.size(), 3U);
  const bool told = !has_warning(r, "no tracepoint block_io_start");  // before Linux 6.5
  ASSERT_EQ(r.makers, told);
  const std::uint32_t self = told ? static_cast<std::uint32_t>(::getpid()) : 0;
  child = told ? child : 0;
  EXPECT_EQ(r.issues[0].origin.process, self);
  EXPECT_FALSE(r.issues[0].origin.device_page);
  EXPECT_EQ(r.issues[1].origin.process, child);
  EXPECT_FALSE(r.issues[1].origin.device_page);
  EXPECT_EQ(r.issues[2].origin.process, self);
  EXPECT_TRUE(r.issues[2].origin.device_page);
  EXPECT_TRUE(r.queued.empty());  // layers are another matter
}

TEST_F(ProbeOrigins, NameNobodyWhereTheKernelHasNoTracepoint) {
  ProbeSettings settings;
  settings.origins = true;
  settings.without.emplace_back("block_io_start");
  const ProbeReport r = watch(settings, [&] { read_at(0, true); });
  EXPECT_TRUE(r.origins);
  EXPECT_FALSE(r.makers);
  ASSERT_EQ(r.issues.size(), 1U);
  EXPECT_EQ(r.issues[0].origin.process, 0U);
  EXPECT_TRUE(has_warning(r, "what other programs read"));
}

TEST_F(ProbeOrigins, AreNotFollowedUnlessAsked) {
  const ProbeReport r = watch({}, [&] { read_at(0, true); });
  EXPECT_FALSE(r.origins);
  ASSERT_EQ(r.issues.size(), 1U);
  EXPECT_EQ(r.issues[0].origin.process, 0U);
  EXPECT_TRUE(r.warnings.empty());
}

TEST_F(ProbeOrigins, WritesAreCountedByWhatTheyAre) {
  const std::unique_ptr<void, void (*)(void*)> memory(std::aligned_alloc(4096, kOriginRead),
                                                      &std::free);
  std::fill_n(static_cast<char*>(memory.get()), kOriginRead, 'x');
  const ProbeReport r = watch({}, [&] {
    for (const off_t at : {0, 1 << 20}) {
      EXPECT_EQ(::pwrite(device_->fd(), memory.get(), kOriginRead, at),
                static_cast<ssize_t>(kOriginRead));
    }
    EXPECT_EQ(::fsync(device_->fd()), 0);
  });
  EXPECT_EQ(r.others.writes, 2U);
  EXPECT_EQ(r.others.write_bytes, 2 * kOriginRead);
  EXPECT_GE(r.other_requests, r.others.writes + r.others.flushes + r.others.discards);
}

// As blkdiscard -z and the first mount of a new ext4 do. What the device refuses is written with
// data then.
TEST_F(ProbeOrigins, ZeroesThatTheDriverWritesAreWrites) {
  std::array<std::uint64_t, 2> range = {1 << 20, 8 << 20};
  const auto before = counting_stat(device_->name());
  const ProbeReport r =
      watch({}, [&] { EXPECT_EQ(::ioctl(device_->fd(), BLKZEROOUT, range.data()), 0); });
  const auto after = counting_stat(device_->name());
  ASSERT_TRUE(before && after);
  const DiskStat stat = *after - *before;
  EXPECT_EQ(r.others.writes, stat.writes);
  EXPECT_EQ(r.others.write_bytes, stat.write_sectors * 512);
  EXPECT_EQ(r.other_requests, r.others.writes);
}

// Also one that was put in and is gone at the end: the order at the driver was not one queue's.
TEST_F(ProbeOrigins, ASchedulerThatComesOrGoesIsSaid) {
  const auto reads = [&](const char* then) {
    return watch({}, [&] {
      read_at(0, true);
      if (!device_->set_scheduler(then)) {
        GTEST_SKIP() << "cannot set the scheduler";
      }
      read_at(1 << 20, true);
      EXPECT_TRUE(device_->set_scheduler("none"));
    });
  };
  ASSERT_TRUE(device_->set_scheduler("none"));
  EXPECT_FALSE(has_warning(reads("none"), "scheduler"));
  EXPECT_TRUE(has_warning(reads("mq-deadline"), "was put in or taken out"));
}

TEST_F(ProbeOrigins, DiscardsAreThoseOfTheKernel) {
  std::array<std::uint64_t, 2> range = {1 << 20, 8 << 20};
  const auto before = counting_stat(device_->name());
  bool discarded = false;
  const ProbeReport r =
      watch({}, [&] { discarded = ::ioctl(device_->fd(), BLKDISCARD, range.data()) == 0; });
  if (!discarded) {
    GTEST_SKIP() << "no discards on a file of /tmp, or on a loop device once put over such a one";
  }
  const auto after = counting_stat(device_->name());
  ASSERT_TRUE(before && after);
  const DiskStat stat = *after - *before;
  EXPECT_GT(r.others.discards, 0U);
  EXPECT_EQ(r.others.discards, stat.discards);
  EXPECT_EQ(r.others.discard_bytes, range[1]);
  EXPECT_EQ(r.others.writes, stat.writes);
}

}  // namespace
}  // namespace blksweep
