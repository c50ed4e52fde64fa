// What is borrowed comes back: at the end, after a kill at any moment, and never to a wrong place.
#include "node/borrowing.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>

#include "node/journal_folder.h"
#include "os/own_folder.h"
#include "support/borrowing_rig.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

bool says(const std::vector<std::string>& lines, const std::string& text) {
  return std::ranges::any_of(
      lines, [&text](const std::string& l) { return l.find(text) != std::string::npos; });
}

Borrowing begin(const BorrowingPlaces& places, bool kept = false) {
  auto b = Borrowing::begin(kept, places);
  EXPECT_TRUE(b);
  return *std::move(b);
}

void expect_set(Borrowing& b, const BorrowingRig& rig, const std::string& name,
                const std::string& value) {
  const auto got = b.set(name, {rig.setting(name), value});
  ASSERT_TRUE(got) << got.error().message();
  EXPECT_EQ(*got, value);
}

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

// --- killed ------------------------------------------------------------------------------------

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

TEST(Killed, AtRandomMomentsEverythingComesBackAHundredTimes) {
  const BorrowingRig rig;
  rig.set("a", "1");
  rig.set("b", "10");
  int changed = 0;
  for (int round = 0; round < 100; ++round) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      for (;;) {
        Borrowing b = begin(rig.places());
        static_cast<void>(b.set("a", {rig.setting("a"), "2"}));
        static_cast<void>(b.set("b", {rig.setting("b"), "20"}));
      }
    }
    ::usleep(static_cast<useconds_t>(500 + 37 * round));
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
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

// --- journals that cannot be trusted -------------------------------------------------------------

class Untrusted : public testing::Test {
 protected:
  void SetUp() override {
    rig_.set("a", "1");
    Child child([this] {
      auto b = std::make_unique<Borrowing>(begin(rig_.places()));
      expect_set(*b, rig_, "a", "2");
      b.release();  // NOLINT
    });
    ASSERT_TRUE(child.worked());
    child.kill_now();
    file_ = rig_.journal_files().front();
    text_ = read_file(file_);
  }
  void rewrite(const std::string& text) const {
    std::ofstream(file_, std::ios::trunc | std::ios::binary) << text;
  }
  // One line names the file, nothing is put back, nothing new is borrowed; --discard is the way
  // out.
  void expect_refused() {
    const RestoreReport report = rig_.restore();
    ASSERT_EQ(report.failed.size(), 1U);
    EXPECT_TRUE(says(report.failed, file_)) << report.failed.front();
    EXPECT_EQ(report.failed.front().find('\n'), std::string::npos);
    EXPECT_EQ(rig_.get("a"), "2");
    {
      Borrowing b = begin(rig_.places());
      const auto got = b.set("b", {rig_.set("b", "1"), "2"});
      ASSERT_FALSE(got);
      EXPECT_NE(got.error().message().find(file_), std::string::npos);
      EXPECT_EQ(rig_.get("b"), "1");
    }
    EXPECT_TRUE(rig_.restore(/*discard=*/true).failed.empty());
    EXPECT_TRUE(rig_.journal_files().empty());
    EXPECT_EQ(rig_.get("a"), "2");
  }

  BorrowingRig rig_;
  std::string file_, text_;
};

TEST_F(Untrusted, WrongChecksum) {
  std::string text = text_;
  text[text.find('\n') + 1] ^= 1;
  rewrite(text);
  expect_refused();
}

TEST_F(Untrusted, AMiddleLineCutShort) {
  std::string text = text_;
  const std::size_t end = text.find('\n', text.find('\n') + 1);
  rewrite(text.erase(end - 5, 5));
  expect_refused();
}

TEST_F(Untrusted, OfAnotherBoot) {
  auto journal = parse_journal(file_, text_, boot_id());
  ASSERT_TRUE(journal);
  rewrite(header_line(journal->owner, "another-boot") + text_.substr(text_.find('\n') + 1));
  expect_refused();
}

TEST_F(Untrusted, WritableByOthers) {
  fs::permissions(file_, fs::perms::others_write, fs::perm_options::add);
  expect_refused();
}

TEST_F(Untrusted, ASymbolicLink) {
  const std::string target = rig_.dir().path("target");
  fs::rename(file_, target);
  fs::create_symlink(target, file_);
  expect_refused();
  EXPECT_EQ(read_file(target), text_) << "neither followed nor removed";
}

TEST_F(Untrusted, AFileWithTwoNames) {
  const std::string second = rig_.dir().path("second");
  fs::create_hard_link(file_, second);
  expect_refused();
  EXPECT_EQ(read_file(second), text_);
}

TEST_F(Untrusted, OfAnotherUser) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "needs root to give a file away";
  }
  ASSERT_EQ(::chown(file_.c_str(), 65534, 65534), 0);
  expect_refused();
}

TEST_F(Untrusted, AFifo) {
  fs::remove(file_);
  ASSERT_EQ(::mkfifo(file_.c_str(), 0600), 0);
  expect_refused();
}

TEST_F(Untrusted, AForeignName) {
  fs::rename(file_, file_ + "x");
  file_ += "x";
  expect_refused();
}

// A forged journal with right checksums cannot make us write elsewhere.
TEST_F(Untrusted, PathsThatAreNotPermittedAreNotWritten) {
  rig_.dir().write("victim", "1\n");
  auto journal = parse_journal(file_, text_, boot_id());
  ASSERT_TRUE(journal);
  for (const char* path : {"victim", "sys/../victim"}) {
    const Loan loan{.key = "k", .what = "w", .values = {{rig_.dir().path(path), "2"}}};
    rewrite(header_line(journal->owner, boot_id()) + loan_line(1, loan));
    const RestoreReport report = rig_.restore();
    EXPECT_TRUE(says(report.failed, "not touched"));
    EXPECT_EQ(read_file(rig_.dir().path("victim")), "1\n");
  }
}

TEST_F(Untrusted, AFolderThatIsALinkOrWritableByOthers) {
  const std::string elsewhere = rig_.dir().path("elsewhere");
  fs::rename(rig_.journals(), elsewhere);
  fs::create_directory_symlink(elsewhere, rig_.journals());
  EXPECT_FALSE(restore_left_behind(true, rig_.places()));
  {
    Borrowing b = begin(rig_.places());
    EXPECT_FALSE(b.set("a", {rig_.setting("a"), "3"}));
  }
  EXPECT_EQ(rig_.get("a"), "2");
  EXPECT_EQ(std::distance(fs::directory_iterator(elsewhere), fs::directory_iterator()), 1);
  fs::remove(rig_.journals());
  fs::rename(elsewhere, rig_.journals());
  fs::permissions(rig_.journals(), fs::perms::group_write, fs::perm_options::add);
  EXPECT_FALSE(restore_left_behind(true, rig_.places()));
  EXPECT_EQ(rig_.get("a"), "2");
  fs::permissions(rig_.journals(), fs::perms::group_write, fs::perm_options::remove);
  EXPECT_TRUE(rig_.restore().failed.empty());
  EXPECT_EQ(rig_.get("a"), "1");
}

}  // namespace
}  // namespace blksweep
