// What is borrowed comes back at the end, to nowhere else, and one process has it at a time.
#include "node/journal/borrowing.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>

#include "node/journal/folder.h"
#include "support/borrowing_rig.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

TEST(Borrowing, MakesNothingBeforeTheFirstLoan) {
  const BorrowingRig rig;
  { const Borrowing b = begin(rig.places()); }
  EXPECT_FALSE(fs::exists(rig.dir().path("run/blksweep")));
}

TEST(Borrowing, GivesBackTheNewestFirstWhenItEnds) {
  const BorrowingRig rig;
  rig.set("a", "1");
  {
    Borrowing b = begin(rig.places());
    expect_set(b, rig, "a", "2");
    expect_set(b, rig, "a", "3");
    EXPECT_EQ(rig.journal_files().size(), 1U);
  }
  EXPECT_EQ(rig.get("a"), "1");
  EXPECT_TRUE(rig.journal_files().empty());
}

TEST(Borrowing, TheJournalIsForItsOwnerAlone) {
  const BorrowingRig rig;
  rig.set("a", "1");
  Borrowing b = begin(rig.places());
  expect_set(b, rig, "a", "2");
  struct stat st {};
  ASSERT_EQ(::stat(rig.journals().c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0700U);
  ASSERT_EQ(::stat(rig.journal_files().front().c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0600U);
}

TEST(Borrowing, ALoanIsInTheJournalBeforeTheChange) {
  const BorrowingRig rig;
  rig.set("a", "1");
  BorrowingPlaces places = rig.places();
  bool looked = false;
  places.at_step = [&](const char* step) {
    if (std::string(step) == "before change") {
      looked = true;
      EXPECT_EQ(rig.get("a"), "1");
      const auto found = look_at_journals(rig.places().run_folder);
      ASSERT_TRUE(found);
      ASSERT_EQ(found->size(), 1U);
      EXPECT_EQ(found->front().journal->records.at(0).loan.values,
                (std::vector<SavedValue>{{rig.setting("a"), "1"}}));
    }
  };
  Borrowing b = begin(places);
  expect_set(b, rig, "a", "2");
  EXPECT_TRUE(looked);
}

TEST(Borrowing, TakeBackUndoesTheNewestLoanAlone) {
  const BorrowingRig rig;
  rig.set("a", "1");
  rig.set("b", "1");
  Borrowing b = begin(rig.places());
  expect_set(b, rig, "a", "2");
  expect_set(b, rig, "b", "2");
  ASSERT_TRUE(b.take_back());
  EXPECT_EQ(rig.get("a"), "2");
  EXPECT_EQ(rig.get("b"), "1");
  ASSERT_TRUE(b.restore());
  EXPECT_EQ(rig.get("a"), "1");
}

TEST(Borrowing, AForkedChildGivesNothingBack) {
  const BorrowingRig rig;
  rig.set("a", "1");
  Borrowing b = begin(rig.places());
  expect_set(b, rig, "a", "2");
  const pid_t child = ::fork();
  if (child == 0) {
    { const Borrowing copy = std::move(b); }
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(rig.get("a"), "2");
  EXPECT_EQ(rig.journal_files().size(), 1U);
}

TEST(Borrowing, AFileThatVanishedNeedsNoUndoing) {
  const BorrowingRig rig;
  rig.set("a", "1");
  rig.set("b", "1");
  Borrowing b = begin(rig.places());
  expect_set(b, rig, "a", "2");
  expect_set(b, rig, "b", "2");
  fs::remove(rig.setting("b"));
  EXPECT_TRUE(b.restore());
  EXPECT_EQ(rig.get("a"), "1");
  EXPECT_FALSE(fs::exists(rig.setting("b")));
  EXPECT_TRUE(rig.journal_files().empty());
}

TEST(Borrowing, GivesBackFromMemoryWhenTheJournalIsGoneOrDamaged) {
  const BorrowingRig rig;
  rig.set("a", "1");
  Borrowing b = begin(rig.places());
  expect_set(b, rig, "a", "2");
  fs::remove_all(rig.dir().path("run/blksweep"));
  EXPECT_TRUE(b.restore());
  EXPECT_EQ(rig.get("a"), "1");

  expect_set(b, rig, "a", "2");
  std::ofstream(rig.journal_files().front(), std::ios::app) << "damage\n";
  const auto restored = b.restore();
  ASSERT_FALSE(restored);
  EXPECT_NE(restored.error().message().find("damaged"), std::string::npos);
  EXPECT_EQ(rig.get("a"), "1");
  EXPECT_EQ(rig.journal_files().size(), 1U) << "for somebody to look at";
}

TEST(Borrowing, WhatIsNotPermittedIsNotEvenBorrowed) {
  const BorrowingRig rig;
  rig.dir().write("elsewhere", "1\n");
  rig.dir().write("sys/a", "1\n");
  fs::create_directory_symlink(rig.dir().path(), rig.setting("link"));
  Borrowing b = begin(rig.places());
  for (const std::string& path :
       {rig.dir().path("elsewhere"), rig.dir().path("sys/../elsewhere"),
        rig.dir().path("sys/link/elsewhere"), rig.dir().path("sys"), rig.dir().path("system")}) {
    EXPECT_FALSE(b.add({.key = "k", .what = "w", .values = {{path, "2"}}})) << path;
  }
  EXPECT_FALSE(
      b.add({.kind = LoanKind::cgroup, .key = "k", .what = "w", .path = rig.setting("x")}));
  EXPECT_TRUE(rig.journal_files().empty());
}

TEST(Borrowing, ALinkInPlaceOfASettingIsNotFollowed) {
  const BorrowingRig rig;
  rig.dir().write("target", "1\n");
  fs::create_symlink(rig.dir().path("target"), rig.setting("link"));
  Borrowing b = begin(rig.places());
  EXPECT_FALSE(b.set("k", {rig.setting("link"), "2"}));
  EXPECT_EQ(read_file(rig.dir().path("target")), "1\n");
}

// --- two processes -----------------------------------------------------------------------------

TEST(Borrowing, AKeyThatALivingProcessHoldsIsRefusedWithItsPid) {
  const BorrowingRig rig;
  rig.set("a", "1");
  rig.set("b", "1");
  Child child([&rig] {
    auto b = std::make_unique<Borrowing>(begin(rig.places()));
    expect_set(*b, rig, "a", "2");
    b.release();  // NOLINT: it lives as long as the process
  });
  ASSERT_TRUE(child.worked());
  Borrowing b = begin(rig.places());
  const auto got = b.set("a", {rig.setting("a"), "3"});
  ASSERT_FALSE(got);
  EXPECT_NE(got.error().message().find("a is borrowed by pid " + std::to_string(child.pid())),
            std::string::npos)
      << got.error().message();
  EXPECT_EQ(rig.get("a"), "2");
  expect_set(b, rig, "b", "3");  // another key is free

  const RestoreReport report = rig.restore();
  EXPECT_TRUE(says(report.left, "a: pid " + std::to_string(child.pid())));
  EXPECT_TRUE(report.restored.empty() && report.failed.empty());
  EXPECT_EQ(rig.get("a"), "2") << "it is still the other's";
}

TEST(Borrowing, WhatTheDeadHeldIsGivenBackBeforeItIsBorrowedAgain) {
  const BorrowingRig rig;
  rig.set("a", "1");
  Child child([&rig] {
    auto b = std::make_unique<Borrowing>(begin(rig.places()));
    expect_set(*b, rig, "a", "2");
    b.release();  // NOLINT
  });
  child.kill_now();
  EXPECT_EQ(rig.get("a"), "2");
  {
    Borrowing b = begin(rig.places());
    expect_set(b, rig, "a", "3");
    ASSERT_EQ(rig.journal_files().size(), 1U);
  }
  EXPECT_EQ(rig.get("a"), "1");
}

TEST(Borrowing, WhatTheDeadHeldOfOneKeyIsPutBackBeforeItIsLookedAt) {
  const BorrowingRig rig;
  rig.set("a", "1");
  rig.set("b", "10");
  const auto holder = [&rig](const char* key) {
    return std::make_unique<Child>([&rig, key] {
      auto b = std::make_unique<Borrowing>(begin(rig.places()));
      expect_set(*b, rig, key, "2");
      b.release();  // NOLINT
    });
  };
  const auto first = holder("a");
  const auto second = holder("b");
  ASSERT_TRUE(put_back_left_behind("a", rig.places()));
  EXPECT_EQ(rig.get("a"), "2") << "its holder lives";
  first->kill_now();
  second->kill_now();
  ASSERT_TRUE(put_back_left_behind("a", rig.places()));
  EXPECT_EQ(rig.get("a"), "1");
  EXPECT_EQ(rig.get("b"), "2") << "nobody asked for it";
}

TEST(Borrowing, PuttingBackWhatNobodyLeftMakesNothing) {
  const BorrowingRig rig;
  ASSERT_TRUE(put_back_left_behind("a", rig.places()));
  EXPECT_FALSE(std::filesystem::exists(rig.journals()));
}

TEST(Borrowing, ManyProcessesAtOnceLeaveEverythingAsItWas) {
  const BorrowingRig rig;
  rig.set("a", "1");
  std::vector<pid_t> pids;
  for (int i = 0; i < 8; ++i) {
    pids.push_back(::fork());
    if (pids.back() == 0) {
      for (int round = 0; round < 20; ++round) {
        Borrowing b = begin(rig.places());
        if (b.set("a", {rig.setting("a"), std::to_string(100 + i)}) &&
            rig.get("a") != std::to_string(100 + i)) {
          ::_exit(1);  // somebody else changed it while it was ours
        }
      }
      ::_exit(0);
    }
  }
  for (const pid_t pid : pids) {
    int status = -1;
    ::waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(rig.get("a"), "1");
  EXPECT_TRUE(rig.journal_files().empty());
}

}  // namespace
}  // namespace blksweep
