#include "os/process/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>

#include "base/fd.h"
#include "os/file/file.h"
#include "os/file/stuck_open.h"
#include "os/hostfacts.h"
#include "support/temp_dir.h"

namespace blksweep {
namespace {

ProcessResult must_run(const ProcessSpec& spec) {
  Result<ProcessResult> r = run_process(spec);
  EXPECT_TRUE(r) << r.error().text;
  return r ? *std::move(r) : ProcessResult{};
}

TEST(Process, CapturesBothStreamsAndTheExitStatus) {
  const ProcessResult r = must_run({.argv = {"sh", "-c", "echo out; echo err >&2; exit 3"}});
  EXPECT_EQ(r.out, "out\n");
  EXPECT_EQ(r.err, "err\n");
  EXPECT_EQ(r.exit_status, 3);
  EXPECT_EQ(r.signal, 0);
  EXPECT_FALSE(r.ok());
}

TEST(Process, LosesNoByteHoweverFewThereAre) {
  for (const char* text : {"", "x", "xy"}) {
    const ProcessResult r = must_run({.argv = {"sh", "-c", "printf %s \"$0\"", text}});
    EXPECT_EQ(r.out, text);
  }
}

TEST(Process, PassesArgumentsAsTheyAreWithoutAShell) {
  const ProcessResult r = must_run({.argv = {"printf", "%s|%s", "a b", "$HOME;'"}});
  EXPECT_EQ(r.out, "a b|$HOME;'");
}

TEST(Process, RunsInTheDirectoryGiven) {
  EXPECT_EQ(must_run({.argv = {"pwd"}, .directory = "/usr"}).out, "/usr\n");
}

TEST(Process, PutsVariablesBesideAndBeforeOurs) {
  ASSERT_EQ(setenv("BLKSWEEP_TEST_VARIABLE", "old", 1), 0);
  const std::string out =
      must_run({.argv = {"env"}, .environment = {"BLKSWEEP_TEST_VARIABLE=new"}}).out;
  unsetenv("BLKSWEEP_TEST_VARIABLE");
  EXPECT_NE(out.find("BLKSWEEP_TEST_VARIABLE=new\n"), std::string::npos);
  EXPECT_EQ(out.find("=old"), std::string::npos);
  EXPECT_NE(out.find("PATH="), std::string::npos);
}

TEST(Process, ReadsMoreThanAPipeHoldsAndKeepsWhatWasAskedFor) {
  const ProcessSpec spec{.argv = {"head", "-c", "1000000", "/dev/zero"}};
  EXPECT_EQ(must_run(spec).out.size(), 1'000'000U);
  ProcessSpec limited = spec;
  limited.max_output = 1000;
  const ProcessResult r = must_run(limited);
  EXPECT_EQ(r.out.size(), 1000U);
  EXPECT_TRUE(r.ok());
}

TEST(Process, NamesAProgramThatIsMissing) {
  const Result<ProcessResult> r = run_process({.argv = {"blksweep-no-such-program"}});
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().text, "run blksweep-no-such-program: No such file or directory");
  EXPECT_EQ(r.error().sys_errno, ENOENT);
}

TEST(Process, CountsTheChildsCpuTime) {
  const ProcessResult r =
      must_run({.argv = {"sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"}});
  EXPECT_GT(r.user_ns + r.system_ns, 0);
  EXPECT_GT(r.wall_ns, 0);
}

TEST(Process, TimeoutEndsOnlyTheChild) {
  // The grandchild keeps the pipe open; waiting for the end of the pipe would hang here.
  const ProcessResult r = must_run({.argv = {"sh", "-c", "sleep 30 & echo $!; wait"},
                                    .timeout = std::chrono::milliseconds(200)});
  EXPECT_TRUE(r.timed_out);
  EXPECT_FALSE(r.interrupted);
  EXPECT_EQ(r.signal, SIGTERM);
  const pid_t grandchild = std::stoi(r.out);
  EXPECT_EQ(::kill(grandchild, 0), 0) << "the grandchild was signalled too";
  ::kill(grandchild, SIGKILL);
}

TEST(Process, InterruptFlagEndsTheChild) {
  const std::atomic<bool> stop{true};
  const ProcessResult r = must_run({.argv = {"sleep", "30"}, .interrupt = &stop});
  EXPECT_TRUE(r.interrupted);
  EXPECT_EQ(r.signal, SIGTERM);
}

TEST(Process, ChildThatIgnoresSigtermIsKilled) {
  const ProcessResult r =
      must_run({.argv = {"sh", "-c", "trap '' TERM; while :; do sleep 0.2; done"},
                .timeout = std::chrono::milliseconds(300)});
  EXPECT_TRUE(r.timed_out);
  EXPECT_EQ(r.signal, SIGKILL);
}

TEST(Process, ChildIsKilledWithUs) {
  const TempDir dir;
  const std::string file = dir.path() + "/pid";
  const pid_t runner = ::fork();
  ASSERT_GE(runner, 0);
  if (runner == 0) {
    const auto r = run_process({.argv = {"sh", "-c", "echo $$ > pid; mv pid pid.done; sleep 60"},
                                .directory = dir.path()});
    ::_exit(r ? 0 : 1);
  }
  std::string text;
  while (text.empty()) {
    text = first_line(file + ".done");
    ::usleep(10'000);
  }
  ::kill(runner, SIGKILL);
  ::waitpid(runner, nullptr, 0);
  const pid_t child = std::stoi(text);
  for (int looks = 0; looks < 1000 && ::kill(child, 0) == 0 &&
                      first_line(fmt::format("/proc/{}/comm", child)) == "sh";
       ++looks) {
    ::usleep(10'000);
  }
  EXPECT_NE(first_line(fmt::format("/proc/{}/comm", child)), "sh");
}

TEST(HostFacts, TakesTheFirstModelName) {
  EXPECT_EQ(cpu_model("processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\nmodel name\t: Other\n"),
            "Some CPU @ 2 GHz");
  EXPECT_EQ(cpu_model("processor\t: 0\n"), "");
  EXPECT_EQ(cpu_model("model name"), "");
}

// Only controllers that bound what a run may do are named, each with the limits that it has there.
TEST(HostFacts, NamesTheLimitsOfTheGroupsOfEitherVersion) {
  TempDir root;
  for (const char* folder : {"job", "memory/job", "blkio/job", "cpu", "cpu,cpuacct", "pids/job"}) {
    std::filesystem::create_directories(root.path(folder));
  }
  root.write("job/memory.max", "max\n");
  root.write("job/cpu.max", "50000 100000\n");
  root.write("memory/job/memory.limit_in_bytes", "4096\n");
  root.write("blkio/job/blkio.throttle.read_iops_device", "7:0 100\n");
  root.write("cpu/cpu.cfs_quota_us", "-1\n");
  root.write("cpu,cpuacct/cpu.cfs_quota_us", "5\n");
  root.write("pids/job/memory.limit_in_bytes", "1\n");
  const auto limits = [&](const std::string& groups) {
    return cgroup_limits_in(groups, root.path());
  };
  EXPECT_EQ(limits("0::/job\n"), "v2 /job memory.max=max cpu.max=50000 100000");
  EXPECT_EQ(limits("4:memory:/job\n"), "v1 memory /job memory.limit_in_bytes=4096");
  EXPECT_EQ(limits("9:pids:/job\n7:blkio:/job\n1:cpu:/\n"),
            "v1 blkio /job blkio.throttle.read_iops_device=7:0 100; v1 cpu / cpu.cfs_quota_us=-1");
  EXPECT_EQ(limits("3:cpu,cpuacct:/\n"), "v1 cpu,cpuacct / cpu.cfs_quota_us=5");
  EXPECT_EQ(limits("no colon\none:colon\n2:name=systemd:/\n"), "");
}

TEST(HostFacts, KnowsThisNode) {
  const HostFacts h = read_host_facts();
  EXPECT_EQ(h.kernel.rfind("Linux ", 0), 0U);
  EXPECT_GT(h.cpus, 0U);
  EXPECT_GT(h.memory_bytes, std::uint64_t{1} << 20);
}

TEST(Process, IsEndedWhenItIsHopeless) {
  int asked = 0;
  const ProcessResult r =
      must_run({.argv = {"sleep", "60"}, .hopeless = [&asked](pid_t) { return ++asked == 3; }});
  EXPECT_TRUE(r.hopeless);
  EXPECT_EQ(r.signal, SIGTERM);
  EXPECT_LT(r.wall_ns, 10'000'000'000);
}

constexpr auto kShort = std::chrono::milliseconds(500);

TEST(StuckOpen, IsOneOfAFifoWithoutAWriter) {
  const TempDir dir;
  ASSERT_EQ(::mkfifo(dir.path("fifo").c_str(), 0600), 0);
  const ProcessResult r = must_run({.argv = {"cat", dir.path("fifo")},
                                    .timeout = std::chrono::seconds(60),
                                    .hopeless = StuckOpen(kShort)});
  EXPECT_TRUE(r.hopeless);
  EXPECT_FALSE(r.timed_out);
}

TEST(StuckOpen, IsAReadOfAFifoThatSomebodyHolds) {
  const TempDir dir;
  ASSERT_EQ(::mkfifo(dir.path("fifo").c_str(), 0600), 0);
  const Fd held(::open(dir.path("fifo").c_str(), O_RDWR | O_CLOEXEC));
  const ProcessResult r = must_run({.argv = {"cat", dir.path("fifo")},
                                    .timeout = std::chrono::seconds(60),
                                    .hopeless = StuckOpen(kShort)});
  EXPECT_TRUE(r.hopeless);
}

TEST(StuckOpen, IsNoWaitForAPipeAndNotManyOpens) {
  const std::string read = "sleep 2 | read -r line";
  const std::string opens = "while [ $SECONDS -lt 2 ]; do : </dev/null; done";
  for (const std::string& script : {read, opens}) {
    const ProcessResult r =
        must_run({.argv = {"bash", "-c", script}, .hopeless = StuckOpen(kShort)});
    EXPECT_FALSE(r.hopeless) << script;
    EXPECT_EQ(r.signal, 0);
  }
}

}  // namespace
}  // namespace blksweep
