// Journals that cannot be trusted: refused in one line, nothing is written, nothing followed.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "node/journal/borrowing.h"
#include "node/journal/folder.h"
#include "support/borrowing_rig.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

class Untrusted : public ::testing::Test {
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
