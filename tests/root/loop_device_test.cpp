#include "disk/loop_device.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "base/fd.h"
#include "support/temp_dir.h"

namespace blksweep {
namespace {

std::string image(const TempDir& dir, const std::string& name) {
  const std::string path = dir.path(name);
  std::ofstream(path).close();
  std::filesystem::resize_file(path, std::uint64_t{1} << 20);
  return path;
}

bool configure(const std::string& disk, const std::string& file) {
  const Fd device(::open(("/dev/" + disk).c_str(), O_RDWR | O_CLOEXEC));
  const Fd data(::open(file.c_str(), O_RDWR | O_CLOEXEC));
  loop_config config{};
  config.fd = static_cast<__u32>(data.get());
  return device && data && ::ioctl(device.get(), LOOP_CONFIGURE, &config) == 0;
}

// Asked to go while it is held open, a device goes when that is closed.
bool is_asked_to_go(const std::string& disk) {
  std::string text;
  std::getline(std::ifstream("/sys/block/" + disk + "/loop/autoclear"), text);
  return text == "1";
}

// The number that was let go is the first that the next one is given.
TEST(LoopDevice, DetachedAlsoWhereAnotherProcessTakesItsNumberAtOnce) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "needs root to set up a loop device";
  }
  const TempDir dir;
  const std::string ours = image(dir, "ours");
  const std::string theirs = image(dir, "theirs");
  const Result<AttachedLoop> loop = attach_loop(ours, {.number = {}, .direct_needed = false});
  ASSERT_TRUE(loop) << loop.error().message();
  Fd held(::open(("/dev/" + loop->disk).c_str(), O_RDONLY | O_CLOEXEC));
  bool taken = false;
  std::thread other([&] {
    for (int i = 0; i < 10'000 && !is_asked_to_go(loop->disk); ++i) {
      ::usleep(100);
    }
    held.reset();
    for (int i = 0; i < 1000 && !taken; ++i) {
      taken = configure(loop->disk, theirs);
    }
  });
  const Result<> detached = detach_loop(loop->disk);
  other.join();
  EXPECT_TRUE(detached) << detached.error().message();
  EXPECT_TRUE(taken);
  EXPECT_EQ(loop_of(theirs)->value_or("none"), loop->disk);
  EXPECT_TRUE(detach_loop(loop->disk));
  EXPECT_EQ(loop_of(theirs)->value_or("none"), "none");
}

TEST(LoopDevice, HeldByNoOtherProcessThatIsSeenSaysSo) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "needs root to set up a loop device";
  }
  const TempDir dir;
  const Result<AttachedLoop> loop =
      attach_loop(image(dir, "image"), {.number = {}, .direct_needed = false});
  ASSERT_TRUE(loop) << loop.error().message();
  Fd held(::open(("/dev/" + loop->disk).c_str(), O_RDONLY | O_CLOEXEC));  // by this process
  const Result<> detached = detach_loop(loop->disk, std::chrono::milliseconds(20));
  ASSERT_FALSE(detached);
  EXPECT_NE(detached.error().message().find("a process that is not seen here"), std::string::npos);
  held.reset();
  EXPECT_EQ(loop_of(dir.path("image"))->value_or("none"), "none");
}

}  // namespace
}  // namespace blksweep
