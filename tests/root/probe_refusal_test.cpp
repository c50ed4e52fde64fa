// Where there can be no probe it says so, and what to do.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>

#include "probe/block_probe.h"
#include "probe/cache/cache_probe.h"
#include "probe/refused.h"
#include "support/bare_loop.h"
#include "support/temp_dir.h"

namespace blksweep {
namespace {

struct Refusal {
  int status = 0;
  std::string text;
};

void tell_of_the_probe(dev_t disk, int to) {
  const auto probe = open_block_probe(disk);
  const std::string text = probe ? "allowed" : probe.error().message();
  const bool written = ::write(to, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::_exit(written && !probe ? static_cast<int>(probe.error().exit_code) : 0);
}

// What a child of a process that has become another is told of a disk's probe.
Refusal refused_to(bool (*become)()) {
  std::array<int, 2> pipe_fds{};
  struct stat st {};
  EXPECT_EQ(::pipe(pipe_fds.data()), 0);
  EXPECT_EQ(::stat("/dev/loop0", &st), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    int status = 0;
    const pid_t grandchild = become() ? ::fork() : -1;
    if (grandchild == 0) {
      tell_of_the_probe(st.st_rdev, pipe_fds[1]);
    }
    ::_exit(::waitpid(grandchild, &status, 0) == grandchild ? WEXITSTATUS(status) : 1);
  }
  ::close(pipe_fds[1]);
  Refusal r{.text = std::string(1000, '\0')};
  r.text.resize(
      static_cast<std::size_t>(std::max<ssize_t>(0, ::read(pipe_fds[0], r.text.data(), 1000))));
  ::close(pipe_fds[0]);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  r.status = WEXITSTATUS(status);
  return r;
}

TEST(ProbeWithoutRights, IsRefusedWithTheWayOut) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "needs root to become nobody";
  }
  const Refusal r = refused_to([] { return ::setgid(65534) == 0 && ::setuid(65534) == 0; });
  EXPECT_EQ(r.status, static_cast<int>(Exit::unsupported)) << r.text;
  EXPECT_TRUE(r.text.find("run as root") != std::string::npos ||
              r.text.find("BPF=1") != std::string::npos)
      << r.text;
}

// What a process with the rights of `uid` is told that something was refused with `errnum`.
std::string words_to(uid_t uid, int errnum) {
  const uid_t own = ::geteuid();
  EXPECT_EQ(::seteuid(uid), 0);
  const std::string text = refused_by_bpf("the thing", errnum, "", "do without").value().message();
  EXPECT_EQ(::seteuid(own), 0);
  return text;
}

TEST(RefusedByBpf, NamesWhoMayWhereItIsAMatterOfRights) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "needs root to become nobody";
  }
  EXPECT_EQ(words_to(65534, EPERM),
            "the thing: Operation not permitted: run as root (needs CAP_BPF and CAP_PERFMON)");
  EXPECT_EQ(words_to(65534, EACCES),
            "the thing: Permission denied: run as root (needs CAP_BPF and CAP_PERFMON)");
  EXPECT_EQ(words_to(65534, ENOMEM), "the thing: Cannot allocate memory: do without");
  EXPECT_EQ(
      words_to(0, EPERM),
      "the thing: Operation not permitted: needs CAP_BPF and CAP_PERFMON, which a container or "
      "kernel lockdown may withhold: run on the host");
  EXPECT_EQ(refused_by_bpf("the thing", EINVAL, "R1 is bad", "do without").value().message(),
            "the thing: Invalid argument (R1 is bad): do without");
  EXPECT_EQ(words_to(0, EACCES), "the thing: Permission denied: do without");
  EXPECT_EQ(words_to(0, EAGAIN),
            "the thing: Resource temporarily unavailable: signals interrupted it again and again: "
            "try again without what sends them");
}

// As a container restored elsewhere has one: `unshare --time --monotonic 1000`. Of the children.
bool make_time_namespace() {
  if (::unshare(CLONE_NEWTIME) != 0) {
    return false;
  }
  std::ofstream offsets("/proc/self/timens_offsets");
  return static_cast<bool>(offsets << "monotonic 1000 0\n" << std::flush);
}

TEST(ProbeInATimeNamespace, IsRefusedWithTheWayOut) {
  if (::geteuid() != 0 || ::access("/proc/self/timens_offsets", F_OK) != 0) {
    GTEST_SKIP() << "needs root and a kernel with time namespaces";
  }
  const Refusal r = refused_to(make_time_namespace);
  EXPECT_EQ(r.status, static_cast<int>(Exit::unsupported)) << r.text;
  EXPECT_TRUE(r.text.find("time namespace") != std::string::npos ||
              r.text.find("BPF=1") != std::string::npos)
      << r.text;
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
  EXPECT_TRUE(std::ranges::any_of(r->warnings, [](const std::string& w) {
    return w.find("background reclaim is not counted") != std::string::npos;
  }));
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
