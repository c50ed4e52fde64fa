// Where there can be no probe it says so, and what to do.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>

#include "probe/block_probe.h"

namespace blksweep {
namespace {

TEST(ProbeWithoutRights, IsRefusedWithTheWayOut) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "needs root to become nobody";
  }
  std::array<int, 2> pipe_fds{};
  ASSERT_EQ(::pipe(pipe_fds.data()), 0);
  struct stat st {};
  ASSERT_EQ(::stat("/dev/loop0", &st), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const bool dropped = ::setgid(65534) == 0 && ::setuid(65534) == 0;
    const auto probe = open_block_probe(st.st_rdev);
    const std::string text = !dropped ? "not dropped" : probe ? "allowed" : probe.error().message();
    const bool written =
        ::write(pipe_fds[1], text.data(), text.size()) == static_cast<ssize_t>(text.size());
    ::_exit(written && !probe ? static_cast<int>(probe.error().exit_code) : 0);
  }
  ::close(pipe_fds[1]);
  std::string text(1000, '\0');
  text.resize(
      static_cast<std::size_t>(std::max<ssize_t>(0, ::read(pipe_fds[0], text.data(), 1000))));
  ::close(pipe_fds[0]);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), static_cast<int>(Exit::unsupported)) << text;
  EXPECT_TRUE(text.find("run as root") != std::string::npos ||
              text.find("BPF=1") != std::string::npos)
      << text;
}

TEST(ProbeOfADiskWithoutRequests, IsRefusedWithTheWayOut) {
  struct stat st {};
  if (::stat("/dev/zram0", &st) != 0) {
    GTEST_SKIP() << "no zram device";
  }
  const auto probe = open_block_probe(st.st_rdev);
  ASSERT_FALSE(probe);
  EXPECT_EQ(probe.error().exit_code, Exit::unsupported);
}

}  // namespace
}  // namespace blksweep
