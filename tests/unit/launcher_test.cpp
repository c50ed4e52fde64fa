// A launcher that does not end behind its last child: here a process that waits for signals alone.
#include "ranks/launcher.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <string>

#include "base/fd.h"
#include "os/process/process_id.h"

namespace blksweep {
namespace {

using std::chrono::milliseconds;

constexpr Nanos kQuiet{milliseconds(400)}, kLong{std::chrono::seconds(20)};

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe(ends.data()), 0);
    out = Fd(ends[0]);
    in = Fd(ends[1]);
  }
  Fd out, in;
};

// A child that watches and is gone, and never waited for; another one that lives as long as `held`
// has its other end.
class Launcher {
 public:
  explicit Launcher(void (*on_term)(int), bool with_child = false) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      be_launcher(on_term, with_child);
    }
    id_ = *id_of(pid);
    said_.in.reset();
    held_.out.reset();
  }
  ~Launcher() {
    kill_now(id_);
    ::waitpid(id_.pid, nullptr, 0);
  }
  const ProcessId& id() const { return id_; }
  void let_child_go() { held_.in.reset(); }
  bool ends_within(Nanos time) const {
    const std::int64_t steps = time / milliseconds(10);
    for (std::int64_t i = 0; i < steps && is_alive(id_); ++i) {
      ::poll(nullptr, 0, 10);
    }
    return !is_alive(id_);
  }
  int status() const {
    int status = 0;
    ::waitpid(id_.pid, &status, 0);
    return status;
  }
  std::string said() const {
    std::array<char, 300> text{};
    const ssize_t n = ::read(said_.out.get(), text.data(), text.size());
    return {text.data(), n > 0 ? static_cast<std::size_t>(n) : 0};
  }

 private:
  [[noreturn]] void be_launcher(void (*on_term)(int), bool with_child) {
    ::dup2(said_.in.get(), STDERR_FILENO);
    held_.in.reset();
    std::signal(SIGTERM, on_term);
    if (::fork() == 0) {
      watch_launcher(::getppid(), kQuiet);
      ::_exit(0);
    }
    if (with_child && ::fork() == 0) {
      char none = 0;
      ::_exit(static_cast<int>(::read(held_.out.get(), &none, 1)));
    }
    held_.out.reset();
    for (;;) {
      ::pause();
    }
  }

  ProcessId id_;
  Pipe said_, held_;
};

// As mpirun does.
void end_at_the_second(int) {
  static int asked = 0;
  if (++asked == 2) {
    ::_exit(1);
  }
}

TEST(LauncherWatch, OneThatHangsBehindItsLastChildIsAskedTwiceAndSaysIt) {
  const Launcher launcher(end_at_the_second);
  ASSERT_TRUE(launcher.ends_within(kLong));
  EXPECT_EQ(WEXITSTATUS(launcher.status()), 1);
  EXPECT_NE(launcher.said().find("has not ended in"), std::string::npos);
}

TEST(LauncherWatch, OneThatDoesNotListenIsKilled) {
  const Launcher launcher(SIG_IGN);
  ASSERT_TRUE(launcher.ends_within(kLong));
  EXPECT_EQ(WTERMSIG(launcher.status()), SIGKILL);
}

TEST(LauncherWatch, OneIsLeftAloneWhileAChildLives) {
  Launcher launcher(SIG_DFL, /*with_child=*/true);
  EXPECT_FALSE(launcher.ends_within(3 * kQuiet));
  launcher.let_child_go();
  EXPECT_TRUE(launcher.ends_within(kLong));
}

TEST(LauncherWatch, OneThatIsStoppedIsLeftAlone) {
  const Launcher launcher(SIG_DFL);
  ::kill(launcher.id().pid, SIGSTOP);
  EXPECT_FALSE(launcher.ends_within(3 * kQuiet));
  ::kill(launcher.id().pid, SIGCONT);
  EXPECT_TRUE(launcher.ends_within(kLong));
}

TEST(LauncherWatch, OnlyMpirunIsOne) {
  EXPECT_FALSE(is_launcher(::getpid()));
  EXPECT_FALSE(is_launcher(::getppid()));
}

}  // namespace
}  // namespace blksweep
