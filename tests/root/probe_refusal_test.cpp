// Where there can be no probe it says so, and what to do.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <string>

#include "probe/block_probe.h"
#include "probe/cache/cache_probe.h"
#include "support/bare_loop.h"
#include "support/temp_dir.h"

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

// What the verifier of another kernel does: it takes all programs but one.
class ProbeWithARefusedProgram : public testing::Test {
 protected:
  void SetUp() override {
    if (!device_) {
      GTEST_SKIP() << "needs root and loop devices: " << device_.error().message();
    }
  }

  // Of one direct read.
  Result<ProbeReport> watch(const ProbeSettings& settings) const {
    BLKSWEEP_TRY(const auto probe, open_block_probe(device_->number(), settings));
    BLKSWEEP_CHECK(probe->start());
    const std::unique_ptr<void, void (*)(void*)> memory(std::aligned_alloc(4096, 4096), &std::free);
    EXPECT_EQ(::pread(device_->fd(), memory.get(), 4096, 0), 4096);
    return probe->stop();
  }

  Result<LoopDevice> device_ = LoopDevice::make();
};

TEST_F(ProbeWithARefusedProgram, IsWithoutThatOneAlone) {
  const auto r = watch({.spoilt = {"block_rq_requeue", "block_split"}});
  ASSERT_TRUE(r) << r.error().message();
  EXPECT_EQ(r->requests, 1U);
  EXPECT_EQ(r->requeues, std::nullopt);
  EXPECT_EQ(r->splits, std::nullopt);
  EXPECT_EQ(r->plug_merges, 0U);
  ASSERT_EQ(r->warnings.size(), 2U);
  EXPECT_NE(r->warnings[0].find("tracepoint block_rq_requeue: "), std::string::npos);
  EXPECT_NE(r->warnings[0].find("count twice"), std::string::npos) << r->warnings[0];
  EXPECT_NE(r->warnings[1].find("splits of long reads"), std::string::npos) << r->warnings[1];
}

TEST_F(ProbeWithARefusedProgram, CountsWhereOriginsAreRefused) {
  const auto r = watch({.origins = true, .spoilt = {"origins"}});
  ASSERT_TRUE(r) << r.error().message();
  EXPECT_EQ(r->requests, 1U);
  EXPECT_EQ(r->issues.size(), 1U);
  EXPECT_FALSE(r->origins);
  EXPECT_FALSE(r->makers);
  ASSERT_EQ(r->warnings.size(), 1U);
  EXPECT_NE(r->warnings[0].find("what for, is not known"), std::string::npos) << r->warnings[0];
}

TEST_F(ProbeWithARefusedProgram, IsNoneWithoutTheIssues) {
  const auto r = watch({.origins = true, .spoilt = {"block_rq_issue"}});
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().exit_code, Exit::unsupported);
  EXPECT_NE(r.error().message().find("tracepoint block_rq_issue: "), std::string::npos)
      << r.error().message();
  EXPECT_NE(r.error().message().find("--no-probe"), std::string::npos);
}

TEST_F(ProbeWithARefusedProgram, OfThePageCacheIsWithoutThatOneAlone) {
  const TempDir dir;
  const auto probe =
      open_cache_probe({.root = dir.path(), .files = {}, .spoilt = {"mm_vmscan_kswapd_wake"}});
  if (!probe && probe.error().message().find("overlay") != std::string::npos) {
    GTEST_SKIP() << probe.error().message();
  }
  ASSERT_TRUE(probe) << probe.error().message();
  ASSERT_TRUE((*probe)->start());
  const auto r = (*probe)->stop();
  ASSERT_TRUE(r);
  EXPECT_EQ(r->kswapd_wakes, std::nullopt);
  EXPECT_NE(r->reclaims, std::nullopt);
  ASSERT_FALSE(r->warnings.empty());
  EXPECT_NE(r->warnings[0].find("background reclaim is not counted"), std::string::npos);
}

TEST_F(ProbeWithARefusedProgram, OfThePageCacheIsNoneWithoutWhatIsAdded) {
  const TempDir dir;
  const auto probe = open_cache_probe(
      {.root = dir.path(), .files = {}, .spoilt = {"mm_filemap_add_to_page_cache"}});
  ASSERT_FALSE(probe);
  EXPECT_EQ(probe.error().exit_code, Exit::unsupported);
  EXPECT_NE(probe.error().message().find("--probe-cache"), std::string::npos);
}

}  // namespace
}  // namespace blksweep
