// What holds of doctor's answer on any node; tests/cli/doctor.sh compares it with runs.
#include "doctor/doctor.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <set>

#include "base/memory.h"
#include "io/engine_trial.h"
#include "loader/file_slots.h"
#include "os/block/device_layers.h"
#include "os/file/direct_io.h"
#include "os/memory/reclaim.h"
#include "probe/probe_trial.h"
#include "support/temp_dir.h"

namespace blksweep {
namespace {

const Check& line(const DoctorReport& report, const std::string& name) {
  return *std::ranges::find(report.checks, name, &Check::name);
}

DoctorSettings settings(const std::string& path) { return {path, std::string("/usr/bin/python3")}; }

// One examination for several properties: it takes the better part of a second.
TEST(Doctor, EveryLackHasAConsequenceAndAFixAndAFileWithDataIsFound) {
  const TempDir dir;
  dir.write("empty", "");
  dir.write("x/y/data", std::string(5000, 'x'));
  const auto report = examine_node({dir.path(), fail("no figures: no Python")});
  ASSERT_TRUE(report) << report.error().message();
  std::set<std::string> names;
  for (const Check& c : report->checks) {
    EXPECT_TRUE(names.insert(c.name).second) << c.name;
    EXPECT_FALSE(c.found.empty()) << c.name;
    EXPECT_EQ(c.found.find('\n'), std::string::npos) << c.name;
    EXPECT_EQ(c.state == Health::ok, c.consequence.empty()) << c.name;
    EXPECT_EQ(c.state == Health::ok, c.fix.empty()) << c.name;
  }
  EXPECT_TRUE(report->ready);
  EXPECT_EQ(line(*report, "files").state, Health::ok);
  EXPECT_NE(line(*report, "files").found.find("x/y/data"), std::string::npos);
  EXPECT_EQ(line(*report, "psync").state, Health::ok);
  EXPECT_EQ(line(*report, "figures").state, Health::missing);
  EXPECT_EQ(line(*report, "figures").found, "no figures: no Python");
}

TEST(Doctor, AFolderWithoutFilesIsNotReady) {
  const TempDir dir;
  const auto report = examine_node(settings(dir.path()));
  ASSERT_TRUE(report);
  EXPECT_FALSE(report->ready);
  EXPECT_EQ(line(*report, "files").state, Health::missing);
}

TEST(Doctor, NamesAPathThatIsNotThere) {
  const auto report = examine_node(settings("/no/such/folder"));
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().message(), "doctor /no/such/folder: No such file or directory");
}

// The limit is this process's own: put back at the end.
TEST(Doctor, IsNotReadyWithTooFewDescriptors) {
  const TempDir dir;
  dir.write("a", "a");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit small{16, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &small), 0);
  const auto report = examine_node(settings(dir.path()));
  ::setrlimit(RLIMIT_NOFILE, &before);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(line(*report, "descriptors").state, Health::missing);
  EXPECT_FALSE(report->ready);
}

// In this process, for good: as if the kernel had no such call.
bool refuse(unsigned call) {
  std::array<sock_filter, 4> filter{{{BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
                                     {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, call},
                                     {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | ENOSYS},
                                     {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}}};
  const sock_fprog program{filter.size(), filter.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// The other engines read, too.
TEST(Doctor, IsReadyWithoutTheEnginesThatItCanDoWithout) {
  const TempDir dir;
  dir.write("a", "a");
  const auto examine = [&] {
    if (!refuse(SYS_io_setup) || !refuse(SYS_io_uring_setup)) {
      ::_exit(0);  // no seccomp here
    }
    const auto report = examine_node(settings(dir.path()));
    const bool without = report && line(*report, "libaio").state == Health::missing &&
                         line(*report, "io_uring").state != Health::ok;
    ::_exit(without && report->ready ? 0 : 1);
  };
  EXPECT_EXIT(examine(), testing::ExitedWithCode(0), "");
}

TEST(FileSlotsSettings, AreScarceOnlyForMoreFilesThanCanWaitOpen) {
  FileSlotsSettings s;
  s.ahead = 10;
  EXPECT_TRUE(s.scarce(11));
  EXPECT_FALSE(s.scarce(10));
  s.ahead = 64;
  EXPECT_FALSE(s.scarce(1'000'000));
}

TEST(EngineTrial, PsyncReadsAndIoUringReadsOrSaysWhyNot) {
  auto memory = PageBuffer::allocate({1 << 20});
  ASSERT_TRUE(memory);
  EngineSettings s;
  s.arena = memory->span();
  EXPECT_TRUE(try_reads(EngineKind::psync, s));
  const auto ring = try_uring(s);
  if (ring) {
    EXPECT_EQ(ring->reads_refuse, "");
    EXPECT_FALSE(ring->facts.features.empty() && ring->facts.refused.empty());
  } else {
    EXPECT_EQ(ring.error().exit_code, Exit::unsupported);
  }
}

TEST(ProbeTrial, NamesEveryProgramOrSaysWhyThereAreNone) {
  const auto trials = try_probe_programs();
  if (!trials) {
    EXPECT_EQ(trials.error().exit_code, Exit::unsupported);
    return;
  }
  EXPECT_EQ(trials->front().tracepoint, "block_rq_issue");
  EXPECT_TRUE(trials->front().without.empty());  // nothing works without it
  std::set<std::string> names;
  for (const ProgramTrial& t : *trials) {
    names.insert(std::string(t.tracepoint));
  }
  EXPECT_EQ(names.size(), trials->size());
  EXPECT_TRUE(names.contains("block_rq_complete") && names.contains("io_uring_queue_async_work"));
}

TEST(DirectIo, TrialReadSaysWhyTheKernelDoesNotRead) { EXPECT_EQ(try_direct_read(-1, 512), EBADF); }

TEST(DeviceLayers, AreEachDiskOnceAndEndForOneThatIsNotThere) {
  std::error_code ec;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/block", ec)) {
    const auto layers = device_layers(entry.path().filename().string());
    ASSERT_FALSE(layers.empty());
    std::set<std::string> names;
    for (const DiskFacts& f : layers) {
      EXPECT_TRUE(names.insert(f.disk).second) << f.disk;
    }
  }
  EXPECT_EQ(device_layers("no-such-disk").size(), 1U);
}

TEST(Reclaim, IsEarlyWhereASchemeOfDamonPagesOut) {
  const TempDir sys;
  EXPECT_TRUE(early_reclaimers(sys.path("none")).empty());
  const std::string damon = "kernel/mm/damon/admin/kdamonds/";
  sys.write(damon + "0/state", "on\n");
  sys.write(damon + "0/contexts/0/schemes/0/action", "lru_prio\n");
  sys.write(damon + "1/state", "off\n");
  sys.write(damon + "1/contexts/0/schemes/0/action", "pageout\n");
  sys.write("module/damon_reclaim/parameters/enabled", "N\n");
  EXPECT_TRUE(early_reclaimers(sys.path("")).empty());
  sys.write(damon + "0/contexts/0/schemes/1/action", "pageout\n");
  sys.write("module/damon_reclaim/parameters/enabled", "Y\n");
  EXPECT_EQ(early_reclaimers(sys.path("")),
            (std::vector<std::string>{"DAMON (kdamond 0: pageout)", "DAMON_RECLAIM"}));
}

}  // namespace
}  // namespace blksweep
