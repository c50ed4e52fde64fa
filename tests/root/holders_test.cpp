#include "os/block/holders.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>

#include "support/temp_dir.h"

namespace blksweep {
namespace {

// In a mount namespace of its own, until it is killed.
void mount_out_of_sight(const char* folder, int ready) {
  if (::unshare(CLONE_NEWNS) == 0 &&
      ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
      ::mount("tmpfs", folder, "tmpfs", 0, nullptr) == 0 && ::write(ready, "x", 1) == 1) {
    ::pause();
  }
  ::_exit(1);
}

TEST(Holders, WhoHasItMountedElsewhereIsFound) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "needs root for a mount namespace";
  }
  const TempDir dir;
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  const pid_t other = ::fork();
  if (other == 0) {
    mount_out_of_sight(dir.path().c_str(), pipe[1]);
  }
  ::close(pipe[1]);
  char word = 0;
  const bool ready = ::read(pipe[0], &word, 1) == 1;
  BlockDevice device;
  struct stat st {};
  if (::stat(("/proc/" + std::to_string(other) + "/root" + dir.path()).c_str(), &st) == 0) {
    device.dev = st.st_dev;
  }
  const std::vector<Holder> found = mounting_processes(device);
  ::kill(other, SIGKILL);
  ::waitpid(other, nullptr, 0);
  ::close(pipe[0]);
  ASSERT_TRUE(ready) << "no mount namespace here";
  EXPECT_TRUE(std::ranges::all_of(found, [&](const Holder& h) { return h.pid == other; }));
  EXPECT_EQ(found.size(), 1U);
  EXPECT_TRUE(std::ranges::empty(mounting_processes(device)));
}

}  // namespace
}  // namespace blksweep
