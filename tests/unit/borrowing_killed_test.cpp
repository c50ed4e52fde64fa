// After a kill at any moment, and of what `node set` keeps, everything comes back on restore.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/clock.h"
#include "node/journal/borrowing.h"
#include "support/borrowing_rig.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

struct Death {
  const char* step;
  int nth;
};
class KilledAt : public testing::TestWithParam<Death> {};

TEST_P(KilledAt, EverythingComesBack) {
  const BorrowingRig rig;
  rig.set("a", "1");
  rig.set("b", "10");
  const Death death = GetParam();
  Child child([&] {
    Borrowing b = begin(rig.dying_at(death.step, death.nth));
    static_cast<void>(b.set("a", {rig.setting("a"), "2"}));
    static_cast<void>(b.set("b", {rig.setting("b"), "20"}));
    static_cast<void>(b.set("a", {rig.setting("a"), "3"}));
    static_cast<void>(b.restore());
  });
  EXPECT_FALSE(child.worked()) << "it was to be killed";
  child.kill_now();
  const RestoreReport report = rig.restore();
  EXPECT_TRUE(report.failed.empty()) << report.failed.front();
  EXPECT_EQ(rig.get("a"), "1");
  EXPECT_EQ(rig.get("b"), "10");
  EXPECT_TRUE(rig.journal_files().empty());
}

INSTANTIATE_TEST_SUITE_P(
    Steps, KilledAt,
    testing::Values(Death{"before append", 1}, Death{"after append", 1}, Death{"before change", 1},
                    Death{"after change", 1}, Death{"before append", 3}, Death{"after append", 3},
                    Death{"before change", 3}, Death{"after change", 3}, Death{"before undo", 1},
                    Death{"after undo", 1}, Death{"before undo", 2}, Death{"after undo", 3},
                    Death{"before remove", 1}),
    [](const auto& tested) {
      std::string name = std::string(tested.param.step) + "_" + std::to_string(tested.param.nth);
      std::ranges::replace(name, ' ', '_');
      return name;
    });

// A kill within write(2): every length that the last line may have.
TEST(Killed, WithinALineTheChangeWasNeverMade) {
  const BorrowingRig rig;
  rig.set("a", "1");
  rig.set("b", "10");
  Child child([&] {
    Borrowing b = begin(rig.dying_at("before change", 2));
    static_cast<void>(b.set("a", {rig.setting("a"), "2"}));
    static_cast<void>(b.set("b", {rig.setting("b"), "20"}));
  });
  child.kill_now();
  ASSERT_EQ(rig.journal_files().size(), 1U);
  const std::string file = rig.journal_files().front();
  const std::string text = read_file(file);
  const std::size_t before = text.rfind('\n', text.size() - 2) + 1;
  for (std::size_t length = before; length < text.size(); length += 7) {
    rig.set("a", "2");
    std::ofstream(file, std::ios::trunc | std::ios::binary) << text.substr(0, length);
    fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
    EXPECT_TRUE(rig.restore().failed.empty());
    EXPECT_EQ(rig.get("a"), "1") << length;
    EXPECT_EQ(rig.get("b"), "10") << length;
    EXPECT_TRUE(rig.journal_files().empty());
  }
}

// Borrows and gives back until it is killed; a byte in the pipe before each round.
[[noreturn]] void borrow_for_ever(const BorrowingRig& rig, int rounds) {
  for (;;) {
    static_cast<void>(::write(rounds, "x", 1) == 1);
    {
      Borrowing b = begin(rig.places());
      static_cast<void>(b.set("a", {rig.setting("a"), "2"}));
      static_cast<void>(b.set("b", {rig.setting("b"), "20"}));
    }
  }
}

std::int64_t wait_for_round(int rounds) {
  char byte = 0;
  EXPECT_EQ(::read(rounds, &byte, 1), 1) << "the child ended by itself";
  return now_ns();
}

TEST(Killed, AtRandomMomentsEverythingComesBackAHundredTimes) {
  const BorrowingRig rig;
  rig.set("a", "1");
  rig.set("b", "10");
  int changed = 0;
  for (int round = 0; round < 100; ++round) {
    std::array<int, 2> pipe{};
    ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
    const pid_t pid = ::fork();
    if (pid == 0) {
      borrow_for_ever(rig, pipe[1]);
    }
    ::close(pipe[1]);  // else a child that ended by itself would be waited for
    // Anywhere in the second round, which takes as long as the first: a busy disk makes both slow.
    const std::int64_t first = wait_for_round(pipe[0]);
    const std::int64_t second = wait_for_round(pipe[0]);
    ::usleep(static_cast<useconds_t>((second - first) * round / 100 / 1000));
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    ::close(pipe[0]);
    changed += rig.get("a") != "1" || rig.get("b") != "10" ? 1 : 0;
    EXPECT_TRUE(rig.restore().failed.empty());
    EXPECT_EQ(rig.get("a"), "1") << round;
    EXPECT_EQ(rig.get("b"), "10") << round;
    EXPECT_TRUE(rig.journal_files().empty());
  }
  EXPECT_GT(changed, 0) << "no kill met a change: the test shows nothing";
}

TEST(Killed, WhatSomebodyElseChangedIsRestoredAndSaid) {
  const BorrowingRig rig;
  rig.set("a", "1");
  Child child([&] {
    auto b = std::make_unique<Borrowing>(begin(rig.places()));
    expect_set(*b, rig, "a", "2");
    b.release();  // NOLINT
  });
  child.kill_now();
  rig.set("a", "77");
  const RestoreReport report = rig.restore();
  EXPECT_EQ(rig.get("a"), "1");
  EXPECT_TRUE(says(report.restored, "somebody else"));
  EXPECT_TRUE(says(report.restored, "77"));
}

TEST(Killed, WhatCannotBeUndoneStaysInTheJournalUntilItIsDiscarded) {
  const BorrowingRig rig;
  rig.set("a", "1");
  rig.set("b", "1");
  Child child([&] {
    auto b = std::make_unique<Borrowing>(begin(rig.places()));
    expect_set(*b, rig, "a", "2");
    expect_set(*b, rig, "b", "2");
    b.release();  // NOLINT
  });
  child.kill_now();
  fs::remove(rig.setting("b"));
  fs::create_directory(rig.setting("b"));
  RestoreReport report = rig.restore();
  EXPECT_EQ(rig.get("a"), "1") << "everything is tried";
  ASSERT_EQ(report.failed.size(), 1U);
  EXPECT_TRUE(says(report.failed, rig.setting("b")));
  EXPECT_EQ(rig.journal_files().size(), 1U);
  rig.set("a", "5");
  report = rig.restore();
  EXPECT_EQ(rig.get("a"), "5") << "undone once is undone";
  report = rig.restore(/*discard=*/true);
  EXPECT_EQ(report.failed.size(), 1U);
  EXPECT_TRUE(rig.journal_files().empty());
}

// --- kept --------------------------------------------------------------------------------------

TEST(Kept, OutlivesItsObjectAndComesBackOnRestore) {
  const BorrowingRig rig;
  rig.set("a", "1");
  for (const char* value : {"2", "3"}) {
    Borrowing b = begin(rig.places(), true);
    expect_set(b, rig, "a", value);
  }
  EXPECT_EQ(rig.get("a"), "3");
  const RestoreReport report = rig.restore();
  EXPECT_EQ(report.restored.size(), 2U);
  EXPECT_EQ(rig.get("a"), "1");
  EXPECT_TRUE(rig.journal_files().empty());
}

TEST(Kept, DoesNotLockAndIsLeftWhileBorrowedOver) {
  const BorrowingRig rig;
  rig.set("a", "1");
  rig.set("b", "1");
  {
    Borrowing kept = begin(rig.places(), true);
    expect_set(kept, rig, "a", "2");
    expect_set(kept, rig, "b", "2");
  }
  {
    Borrowing b = begin(rig.places());
    expect_set(b, rig, "a", "3");
    const RestoreReport report = rig.restore();
    EXPECT_EQ(rig.get("a"), "3");
    EXPECT_EQ(rig.get("b"), "1");
    EXPECT_TRUE(says(report.later, "a: pid " + std::to_string(::getpid())));
  }
  EXPECT_EQ(rig.get("a"), "2");
  EXPECT_TRUE(rig.restore().later.empty());
  EXPECT_EQ(rig.get("a"), "1");
}

// Restoring waits until what is being set is set: else the change came after its undoing.
TEST(Kept, IsNotRestoredWhileItIsBeingSet) {
  const BorrowingRig rig;
  rig.set("a", "1");
  const pid_t pid = ::fork();
  if (pid == 0) {
    for (int round = 0; round < 50; ++round) {
      Borrowing b = begin(rig.places(), true);
      static_cast<void>(b.set("a", {rig.setting("a"), "2"}));
    }
    ::_exit(0);
  }
  while (::waitpid(pid, nullptr, WNOHANG) == 0) {
    rig.restore();
  }
  rig.restore();
  EXPECT_EQ(rig.get("a"), "1");
  EXPECT_TRUE(rig.journal_files().empty());
}

TEST(Kept, KilledWhileItIsBeingSetComesBack) {
  const BorrowingRig rig;
  for (const char* step : {"before append", "after append", "before change", "after change"}) {
    rig.set("a", "1");
    Child child([&] {
      Borrowing b = begin(rig.dying_at(step, 1), true);
      static_cast<void>(b.set("a", {rig.setting("a"), "2"}));
    });
    EXPECT_FALSE(child.worked());
    child.kill_now();
    EXPECT_TRUE(rig.restore().failed.empty());
    EXPECT_EQ(rig.get("a"), "1") << step;
  }
}

TEST(Kept, TakesBackWhatItDidItself) {
  const BorrowingRig rig;
  rig.set("a", "1");
  {
    Borrowing first = begin(rig.places(), true);
    expect_set(first, rig, "a", "2");
  }
  {
    Borrowing second = begin(rig.places(), true);
    expect_set(second, rig, "a", "3");
    ASSERT_TRUE(second.restore());
  }
  EXPECT_EQ(rig.get("a"), "2");
  rig.restore();
  EXPECT_EQ(rig.get("a"), "1");
}

}  // namespace
}  // namespace blksweep
