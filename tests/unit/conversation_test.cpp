#include "os/process/conversation.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "os/block/holders.h"
#include "os/file/file.h"
#include "os/memory/inode_holders.h"
#include "os/process/process_tree.h"
#include "support/temp_dir.h"

namespace blksweep {
namespace {

using std::chrono::seconds;

constexpr Nanos kLong = seconds(60);  // an end by itself is far sooner

Conversation must_talk(const std::string& script, const std::atomic<bool>* interrupt = nullptr) {
  ::signal(SIGPIPE, SIG_IGN);  // as the program does
  ProcessSpec spec{.argv = {"sh", "-c", script}};
  spec.interrupt = interrupt;
  Result<Conversation> talk = Conversation::start(spec);
  EXPECT_TRUE(talk);
  return *std::move(talk);
}

std::string must_hear(Conversation& talk) {
  const Heard heard = talk.next_line(kLong);
  EXPECT_EQ(heard.what, Heard::What::line);
  return heard.line;
}

// A zombie that nobody has waited for is over.
bool runs(const std::string& pid) {
  const std::string stat = whole_text("/proc/" + std::to_string(std::stoi(pid)) + "/stat");
  const std::size_t at = stat.rfind(") ");
  return at != std::string::npos && stat[at + 2] != 'Z';
}

bool soon(const std::function<bool()>& is_so) {
  for (int i = 0; i < 3000 && !is_so(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return is_so();
}

bool is_there(const std::string& pid) { return ::kill(std::stoi(pid), 0) == 0; }

TEST(Conversation, GoesLineByLineBothWays) {
  Conversation talk = must_talk("echo one; read word; echo \"$word two\"; printf rest");
  EXPECT_EQ(must_hear(talk), "one");
  ASSERT_TRUE(talk.say("and\n"));
  EXPECT_EQ(must_hear(talk), "and two");
  EXPECT_EQ(must_hear(talk), "rest") << "the last line needs no end";
  EXPECT_EQ(talk.next_line(kLong).what, Heard::What::end);
  EXPECT_TRUE(talk.end(kLong).process.ok());
}

TEST(Conversation, HearsManyLinesThatComeAtOnceAndInPieces) {
  Conversation talk = must_talk("seq 1 100000");
  for (int i = 1; i <= 100000; ++i) {
    const Heard heard = talk.next_line(kLong);
    ASSERT_EQ(heard.line, std::to_string(i));
  }
  EXPECT_EQ(talk.next_line(kLong).what, Heard::What::end);
}

TEST(Conversation, SaysHowItEndedAndWhatWasSaidLast) {
  Conversation talk = must_talk("seq 1 100000 >&2; echo last >&2; exit 7");
  EXPECT_EQ(talk.next_line(kLong).what, Heard::What::end);
  const Conversation::Ended ended = talk.end(kLong);
  EXPECT_EQ(ended.process.exit_status, 7);
  EXPECT_TRUE(ended.process.err.ends_with("100000\nlast\n"));
  EXPECT_LE(ended.process.err.size(), std::size_t{64} << 10);
  EXPECT_EQ(ended.left_behind, 0U);
}

TEST(Conversation, APipeThatSomebodyElseKeepsOpenIsNoReasonToWait) {
  Conversation talk = must_talk("sleep 1000 & echo $!");
  const std::string left = must_hear(talk);
  EXPECT_EQ(talk.next_line(kLong).what, Heard::What::end);
  EXPECT_TRUE(is_there(left));
  EXPECT_EQ(talk.end(kLong).left_behind, 1U);
  EXPECT_FALSE(is_there(left));
}

// SIGKILL lets nobody act: what the child has started must end all the same.
TEST(Conversation, WhatItStartedEndsWhenWeAreKilled) {
  std::array<int, 2> told{};
  ASSERT_EQ(::pipe(told.data()), 0);
  const pid_t we = ::fork();
  if (we == 0) {
    Conversation talk = must_talk("sleep 1000 & echo $!; wait");
    const std::string left = must_hear(talk) + "\n";
    [[maybe_unused]] const ssize_t n = ::write(told[1], left.data(), left.size());
    ::raise(SIGKILL);
  }
  ::close(told[1]);
  std::array<char, 32> text{};
  ASSERT_GT(::read(told[0], text.data(), text.size() - 1), 0);
  ::close(told[0]);
  ASSERT_EQ(::waitpid(we, nullptr, 0), we);
  EXPECT_TRUE(soon([&] { return !runs(text.data()); }));
}

TEST(Conversation, WhatLeftItsGroupAndItsParentsEndsToo) {
  Conversation talk = must_talk("setsid sh -c 'sleep 1000 & echo $!' & wait; echo done");
  const std::string left = must_hear(talk);
  EXPECT_EQ(must_hear(talk), "done");
  ASSERT_TRUE(is_there(left));
  talk.end(kLong);
  EXPECT_FALSE(is_there(left));
}

TEST(Conversation, OneThatDoesNotEndIsEndedWithAllThatItStarted) {
  Conversation talk = must_talk("trap '' TERM; sleep 1000 & echo $!; wait; sleep 1000");
  const std::string left = must_hear(talk);
  const Conversation::Ended ended = talk.end(Nanos{0});
  EXPECT_TRUE(ended.process.timed_out);
  EXPECT_NE(ended.process.signal, 0);
  EXPECT_FALSE(is_there(left));
}

TEST(Conversation, SilenceIsTold) {
  Conversation talk = must_talk("exec sleep 1000");
  EXPECT_EQ(talk.next_line(Nanos{1'000'000}).what, Heard::What::silence);
}

TEST(Conversation, AnInterruptEndsTheWaiting) {
  std::atomic<bool> interrupt{false};
  Conversation talk = must_talk("exec sleep 1000", &interrupt);
  std::jthread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    interrupt = true;
  });
  EXPECT_EQ(talk.next_line(kLong).what, Heard::What::interrupt);
  EXPECT_TRUE(talk.end(kLong).process.interrupted);
}

TEST(Conversation, LeavesOtherChildrenAlone) {
  Conversation other = must_talk("echo here; read word; echo \"$word\"");
  EXPECT_EQ(must_hear(other), "here");
  { const Conversation talk = must_talk("exec sleep 1000"); }
  ASSERT_TRUE(other.say("still\n"));
  EXPECT_EQ(must_hear(other), "still");
}

TEST(Conversation, AdoptsOnlyWhileItLasts) {
  int before = -1, after = -1;
  ::prctl(PR_GET_CHILD_SUBREAPER, &before);
  must_talk("true").end(kLong);
  ::prctl(PR_GET_CHILD_SUBREAPER, &after);
  EXPECT_EQ(after, before);
}

TEST(Conversation, AProgramThatIsNotThereIsAnError) {
  const auto talk = Conversation::start({.argv = {"/nonexistent/peer"}});
  ASSERT_FALSE(talk);
  EXPECT_EQ(talk.error().message(), "run /nonexistent/peer: No such file or directory");
}

TEST(Conversation, CountsWhatLeftItsParentsToo) {
  Conversation talk = must_talk(
      "(setsid sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done; echo done; sleep 1000' &"
      "); read x; echo $x");
  EXPECT_EQ(must_hear(talk), "done");
  EXPECT_GE(talk.use().cpu_ns, 10'000'000);
  EXPECT_TRUE(talk.use().read_bytes);
  ASSERT_TRUE(talk.say("end\n"));
  EXPECT_EQ(must_hear(talk), "end");
  EXPECT_EQ(talk.end(kLong).left_behind, 1U);
  EXPECT_EQ(talk.use().cpu_ns, 0);
  EXPECT_FALSE(talk.use().read_bytes) << "of one that has ended nothing is known";
}

TEST(ProcessTree, CountsWhatDescendantsUsed) {
  const std::int64_t begun = now_ns();
  Conversation talk =
      must_talk("sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done; echo; read x'");
  must_hear(talk);
  const std::int64_t cpu_ns = tree_use(std::vector{talk.pid()}).cpu_ns;
  EXPECT_GE(cpu_ns, 10'000'000);
  EXPECT_LT(cpu_ns, now_ns() - begun) << "of one that never has two CPUs";
  EXPECT_TRUE(tree_use(std::vector{talk.pid()}).read_bytes);
  const std::vector<std::string> mapped = mapped_files(talk.pid());
  EXPECT_TRUE(std::ranges::any_of(mapped, [](auto& m) { return m.find("/libc") != m.npos; }));
}

// What keeps a filesystem from being unmounted: a folder that is somebody's, a file that is open.
TEST(Holders, AreThoseThatHaveAFileOpenOrAreInTheFolder) {
  const TempDir dir;
  dir.write("top/f", "x");
  dir.write("beside/f", "x");
  const auto held = [&](const std::string& how) {
    Conversation talk = must_talk(how + "; echo; read x");
    must_hear(talk);
    const std::vector<Holder> found = holders_of({dir.path("top")});
    return std::ranges::count(found, talk.pid(), &Holder::pid);
  };
  EXPECT_EQ(held("cd " + dir.path("top")), 1);
  EXPECT_EQ(held("exec 3<" + dir.path("top/f")), 1);
  EXPECT_EQ(held("cd " + dir.path("beside") + "; exec 3<f"), 0);
}

// Open or mapped, such files stay in memory: a run that is to be cold must know of them.
TEST(InodeHolders, CountEachFileOnceWhoeverElseHasIt) {
  const TempDir dir;
  std::vector<ino_t> inodes;
  for (const char* name : {"a", "b", "c"}) {
    dir.write(name, "x");
    struct stat st {};
    ASSERT_EQ(::stat(dir.path(name).c_str(), &st), 0);
    inodes.push_back(st.st_ino);
  }
  // Children of children: our own hold what they hold for us.
  Conversation talk =
      must_talk(fmt::format("cd {}; sh -c 'exec 3<a 4<b; echo; read x'; sh -c true", dir.path()));
  Conversation other =
      must_talk(fmt::format("cd {}; sh -c 'exec 3<b; echo; read x'; sh -c true", dir.path()));
  must_hear(talk);
  must_hear(other);
  const InodeHolders found = inode_holders(dir.path(), inodes);
  EXPECT_EQ(found.wanted, 3U);
  EXPECT_EQ(found.held, 2U);
  ASSERT_FALSE(found.holders.empty());
  EXPECT_EQ(found.holders[0].command, "sh");
  std::uint64_t sum = 0;
  for (const InodeHolder& h : found.holders) {
    sum += h.files;
  }
  EXPECT_EQ(sum, 2U);
}

}  // namespace
}  // namespace blksweep
