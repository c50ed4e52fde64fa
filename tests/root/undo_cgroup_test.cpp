// Cgroups that a killed process made: what is left in them is ended, they are gone, nobody else is
// hurt.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "node/journal/borrowing.h"
#include "node/journal/undo.h"
#include "node/setting.h"
#include "os/block/blockdev.h"
#include "support/borrowing_rig.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

// One hierarchy of each version that may be written to.
std::vector<std::string> hierarchies() {
  std::vector<std::string> tops;
  std::string last;
  for (const MountFacts& m : mounts()) {
    if (m.filesystem.starts_with("cgroup") && m.filesystem != last &&
        ::access(m.mount_point.c_str(), W_OK) == 0 && ::geteuid() == 0) {
      tops.push_back(m.mount_point);
      last = m.filesystem;
    }
  }
  return tops;
}

bool put_into(const std::string& group, pid_t pid) {
  return write_setting(group + "/cgroup.procs", std::to_string(pid)).has_value();
}

class UndoCgroup : public testing::TestWithParam<std::size_t> {
 protected:
  void SetUp() override {
    const auto tops = hierarchies();
    if (GetParam() >= tops.size()) {
      GTEST_SKIP() << "needs root and a cgroup hierarchy that may be written to";
    }
    group_ = tops[GetParam()] + "/blksweep-test-" + std::to_string(::getpid());
    places_.run_folder = run_.path();
  }
  void TearDown() override { static_cast<void>(remove_cgroup(group_)); }

  TempDir run_;
  BorrowingPlaces places_;
  std::string group_;
};

TEST_P(UndoCgroup, OfAKilledProcessIsEmptiedAndRemovedWithThoseBelowIt) {
  Child inside([] {});
  Child deeper([] {});
  Child outside([] {});
  Child borrower([&] {
    auto b = std::make_unique<Borrowing>(*Borrowing::begin(false, places_));
    static_cast<void>(
        b->add({.kind = LoanKind::cgroup, .key = "cgroup/x", .what = "the group", .path = group_}));
    fs::create_directories(group_ + "/below/still");
    b.release();  // NOLINT: it lives as long as the process
  });
  ASSERT_TRUE(borrower.worked());
  ASSERT_TRUE(put_into(group_ + "/below/still", deeper.pid()));
  ASSERT_TRUE(put_into(group_, inside.pid()));
  borrower.kill_now();
  const auto report = restore_left_behind(false, places_);
  ASSERT_TRUE(report && report->failed.empty()) << report->failed.front();
  EXPECT_FALSE(fs::exists(group_));
  for (const pid_t pid : {inside.pid(), deeper.pid()}) {
    int status = 0;
    EXPECT_EQ(::waitpid(pid, &status, WNOHANG), pid) << "it was to be ended";
    EXPECT_EQ(WTERMSIG(status), SIGKILL);
  }
  EXPECT_EQ(::waitpid(outside.pid(), nullptr, WNOHANG), 0) << "it was not inside";
}

TEST_P(UndoCgroup, ThatWasNeverMadeNeedsNoUndoing) {
  auto b = Borrowing::begin(false, places_);
  ASSERT_TRUE(
      b->add({.kind = LoanKind::cgroup, .key = "cgroup/x", .what = "the group", .path = group_}));
  EXPECT_TRUE(b->restore());
}

TEST_P(UndoCgroup, NeverEndsTheProcessThatRestores) {
  fs::create_directories(group_);
  Child inside([&] {
    static_cast<void>(put_into(group_, ::getpid()));
    const auto removed = remove_cgroup(group_);
    if (removed || removed.error().message().find("this very process") == std::string::npos) {
      ::_exit(1);
    }
  });
  EXPECT_TRUE(inside.worked());
}

INSTANTIATE_TEST_SUITE_P(Versions, UndoCgroup, testing::Values(0, 1));

TEST(UndoCgroupName, OnlyGroupsOfOurOwnAreRemoved) {
  const std::vector<std::string> permitted = {"/sys/fs/cgroup"};
  for (const char* path : {"/sys/fs/cgroup/memory", "/sys/fs/cgroup/system.slice", "/sys/fs/cgroup",
                           "/sys/fs/cgroup/../blksweep-1", "/tmp/blksweep-1",
                           "/sys/fs/cgroup/blksweep.service/other"}) {
    EXPECT_FALSE(
        check_loan({.kind = LoanKind::cgroup, .key = "k", .what = "w", .path = path}, permitted))
        << path;
  }
  EXPECT_TRUE(check_loan({.kind = LoanKind::cgroup,
                          .key = "k",
                          .what = "w",
                          .path = "/sys/fs/cgroup/memory/blksweep-1"},
                         permitted));
  EXPECT_FALSE(check_loan({.kind = LoanKind::controllers,
                           .key = "k",
                           .what = "w",
                           .path = "/sys/fs/cgroup/cgroup.procs",
                           .text = "1"},
                          permitted));
}

// Where its processes go back to is a group below those that are permitted, too.
TEST(UndoCgroupName, ProcessesGoBackToNoOtherPlace) {
  Loan loan{.kind = LoanKind::cgroup,
            .key = "k",
            .what = "w",
            .path = "/sys/fs/cgroup/memory/blksweep-1"};
  loan.text = "/sys/fs/cgroup";
  EXPECT_TRUE(check_loan(loan, {"/sys/fs/cgroup"}));
  for (const char* place : {"/tmp", "/sys/fs", "/sys/fs/cgroup/../kernel"}) {
    loan.text = place;
    EXPECT_FALSE(check_loan(loan, {"/sys/fs/cgroup"})) << place;
  }
}

}  // namespace
}  // namespace blksweep
