// Where the controllers are and what a limit needs, over trees of temporary folders that stand for
// v1, v2 and hybrid nodes.
#include "os/cgroup.h"

#include <gtest/gtest.h>
#include <sys/sysmacros.h>

#include "node/limits/plan.h"
#include "support/temp_dir.h"

namespace blksweep {
namespace {

class Node {
 public:
  void v1(const std::string& controllers, const std::string& group, const std::string& root = "/",
          const std::string& rights = "rw") {
    dir_.write(controllers + "/cgroup.procs", "");
    mountinfo_ += "30 24 0:27 " + root + " " + dir_.path(controllers) + " " + rights +
                  ",relatime shared:9 - cgroup cgroup rw," + controllers + "\n";
    member_ += "4:" + controllers + ":" + group + "\n";
  }
  void v2(const std::string& controllers, const std::string& group, const std::string& root = "/") {
    dir_.write("unified/cgroup.controllers", controllers + "\n");
    mountinfo_ += "31 24 0:28 " + root + " " + dir_.path("unified") +
                  " rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";
    member_ += "0::" + group + "\n";
  }
  // What a group of v2 already shares out to those below it.
  void shares(const std::string& group, const std::string& controllers) {
    dir_.write("unified" + group + "/cgroup.subtree_control", controllers + "\n");
  }
  CgroupSources sources() const {
    dir_.write("mountinfo", "22 1 0:20 / /proc rw - proc proc rw\n" + mountinfo_);
    dir_.write("membership", "9:name=systemd:/\n8:pids:/\n" + member_);
    return {dir_.path("mountinfo"), dir_.path("membership")};
  }
  std::string path(const std::string& below) const { return dir_.path(below); }
  CgroupPlace memory() const { return cgroup_place(Controller::memory, sources()); }
  CgroupPlace io() const { return cgroup_place(Controller::io, sources()); }
  Result<LimitPlan> plan(const LimitWish& wish) const {
    return plan_limits(wish, "blksweep-7", sources());
  }
  const TempDir& dir() const { return dir_; }

 private:
  TempDir dir_;
  std::string mountinfo_, member_;
};

LimitWish both() {
  LimitWish wish;
  wish.memory = Bytes{64 << 20};
  wish.read_bytes_per_s = 100'000'000;
  wish.read_iops = 500;
  wish.disk = makedev(7, 3);
  return wish;
}

std::vector<std::string> texts(const LimitPlan& plan) {
  std::vector<std::string> all;
  for (const LimitValue& value : plan.values) {
    all.push_back(value.text);
  }
  return all;
}

std::vector<std::string> steps(const LimitPlan& plan) {
  std::vector<std::string> all;
  for (const ControllerStep& step : plan.controllers) {
    all.push_back(step.file + " " + step.name + (step.on ? " is on" : ""));
  }
  return all;
}

TEST(CgroupPlace, FindsV1GroupsPerController) {
  Node node;
  node.v1("memory", "/jobs/7");
  node.v1("blkio", "/");
  EXPECT_EQ(node.memory().version, 1);
  EXPECT_EQ(node.memory().own, node.path("memory/jobs/7"));
  EXPECT_EQ(node.io().own, node.path("blkio"));
  EXPECT_EQ(cgroup_summary(node.sources()), "v1 memory,blkio");
}

TEST(CgroupPlace, FindsControllersThatShareAMount) {
  Node node;
  node.v1("blkio,memory", "/a");
  EXPECT_EQ(node.memory().own, node.path("blkio,memory/a"));
  EXPECT_EQ(node.io().own, node.path("blkio,memory/a"));
}

TEST(CgroupPlace, DoesNotTakeAControllerForAnotherWhoseNameItBeginsWith) {
  Node node;
  node.v1("cpuset,mem", "/a");
  EXPECT_EQ(node.memory().version, 0);
  EXPECT_EQ(cgroup_summary(node.sources()), "no memory or I/O controller");
}

TEST(CgroupPlace, FindsV2OnlyWhereTheControllerIsThere) {
  Node node;
  node.v2("cpu io pids", "/user.slice/s1");
  EXPECT_EQ(node.io().version, 2);
  EXPECT_EQ(node.io().own, node.path("unified/user.slice/s1"));
  EXPECT_EQ(node.memory().version, 0);
  EXPECT_EQ(cgroup_summary(node.sources()), "v2 io (no memory)");
}

TEST(CgroupPlace, HybridNodesHaveEachControllerInItsOwnVersion) {
  Node node;
  node.v1("memory", "/m");
  node.v2("io hugetlb", "/");
  EXPECT_EQ(node.memory().version, 1);
  EXPECT_EQ(node.io().version, 2);
  EXPECT_EQ(cgroup_summary(node.sources()), "hybrid: v1 memory; v2 io");
}

TEST(CgroupPlace, KnowsAPartOfAHierarchyThatIsMounted) {
  Node node;
  node.v1("memory", "/docker/abc/x", "/docker/abc");
  EXPECT_EQ(node.memory().own, node.path("memory/x"));
  Node same;
  same.v1("memory", "/docker/abc", "/docker/abc");
  EXPECT_EQ(same.memory().own, same.path("memory"));
}

TEST(CgroupPlace, HasNoOwnGroupOutsideOfTheMount) {
  Node other;
  other.v1("memory", "/docker/abcdef", "/docker/abc");
  EXPECT_EQ(other.memory().own, "");
  Node above;
  above.v2("memory", "/../..");
  EXPECT_EQ(above.memory().own, "");
}

TEST(LimitPlan, PutsV1GroupsBelowTheProcess) {
  Node node;
  node.v1("memory", "/jobs/7");
  node.v1("blkio", "/");
  const Result<LimitPlan> plan = node.plan(both());
  ASSERT_TRUE(plan) << plan.error().text;
  EXPECT_TRUE(plan->controllers.empty());
  ASSERT_EQ(plan->groups.size(), 2U);
  EXPECT_EQ(plan->groups[0].folder, node.path("memory/jobs/7/blksweep-7"));
  EXPECT_EQ(plan->groups[0].origin, node.path("memory/jobs/7"));
  EXPECT_TRUE(plan->groups[0].memory && !plan->groups[0].io);
  EXPECT_EQ(plan->groups[1].folder, node.path("blkio/blksweep-7"));
  EXPECT_EQ(texts(*plan), (std::vector<std::string>{"67108864", "7:3 100000000", "7:3 500"}));
  EXPECT_EQ(plan->values[1].file, node.path("blkio/blksweep-7/blkio.throttle.read_bps_device"));
}

TEST(LimitPlan, PutsOneV2GroupBesideTheProcessAndSwitchesOnWhatIsOff) {
  Node node;
  node.v2("cpu io memory", "/user.slice/s1");
  node.shares("", "cpu memory");
  node.shares("/user.slice", "");
  const Result<LimitPlan> plan = node.plan(both());
  ASSERT_TRUE(plan) << plan.error().text;
  ASSERT_EQ(plan->groups.size(), 1U);
  EXPECT_EQ(plan->groups[0].folder, node.path("unified/user.slice/blksweep-7"));
  EXPECT_EQ(plan->groups[0].origin, node.path("unified/user.slice/s1"));
  EXPECT_TRUE(plan->groups[0].memory && plan->groups[0].io);
  // From the top down, because a group can only pass on what it has.
  const std::string root = node.path("unified/cgroup.subtree_control");
  const std::string slice = node.path("unified/user.slice/cgroup.subtree_control");
  EXPECT_EQ(steps(*plan), (std::vector<std::string>{root + " memory is on", slice + " memory",
                                                    root + " io", slice + " io"}));
  EXPECT_EQ(texts(*plan),
            (std::vector<std::string>{"67108864", "7:3 rbps=100000000", "7:3 riops=500"}));
}

TEST(LimitPlan, PutsTheGroupBelowTheRootOfV2) {
  Node node;
  node.v2("io memory", "/");
  node.shares("", "io memory");
  const Result<LimitPlan> plan = node.plan(both());
  ASSERT_TRUE(plan) << plan.error().text;
  const std::string root = node.path("unified/cgroup.subtree_control");
  EXPECT_EQ(steps(*plan), (std::vector<std::string>{root + " memory is on", root + " io is on"}));
  EXPECT_EQ(plan->groups.at(0).folder, node.path("unified/blksweep-7"));
  EXPECT_EQ(plan->groups.at(0).origin, node.path("unified"));
}

TEST(LimitPlan, NeedsOnlyTheControllersThatAreAskedFor) {
  Node node;
  node.v1("memory", "/");
  LimitWish wish;
  wish.memory = Bytes{64 << 20};
  EXPECT_TRUE(node.plan(wish));
  const Result<LimitPlan> io = node.plan(both());
  ASSERT_FALSE(io);
  EXPECT_EQ(io.error().exit_code, Exit::unsupported);
  EXPECT_NE(io.error().text.find("I/O limit: no cgroup io controller here (v1 memory (no io))"),
            std::string::npos)
      << io.error().text;
}

TEST(LimitPlan, SaysWhyAContainerCannot) {
  Node read_only;
  read_only.v1("memory", "/", "/", "ro");
  const Result<LimitPlan> plan = read_only.plan({.memory = Bytes{64 << 20}});
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().exit_code, Exit::unsupported);
  EXPECT_NE(plan.error().text.find("mounted read-only"), std::string::npos);
  Node outside;
  outside.v1("memory", "/b", "/a");
  const Result<LimitPlan> other = outside.plan({.memory = Bytes{64 << 20}});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().exit_code, Exit::unsupported);
  EXPECT_NE(other.error().text.find("outside of"), std::string::npos);
}

TEST(LimitPlan, RefusesLimitsThatNobodyCanLiveWith) {
  Node node;
  node.v1("memory", "/");
  node.v1("blkio", "/");
  LimitWish tiny = both();
  tiny.memory = Bytes{(8 << 20) - 1};
  LimitWish no_bytes = both();
  no_bytes.read_bytes_per_s = 0;
  LimitWish no_reads = both();
  no_reads.read_iops = 0;
  LimitWish nowhere = both();
  nowhere.disk = 0;
  for (const LimitWish& wish : {tiny, no_bytes, no_reads, nowhere}) {
    const Result<LimitPlan> plan = node.plan(wish);
    ASSERT_FALSE(plan);
    EXPECT_EQ(plan.error().exit_code, Exit::usage);
  }
}

TEST(ReadBack, FindsTheLineOfItsDevice) {
  TempDir dir;
  dir.write("v1", "7:0 5\n7:3 100\n254:0 9\n");
  dir.write("v2", "7:30 rbps=1 wbps=max\n7:3 rbps=max wbps=max riops=500 wiops=max\n");
  dir.write("memory", "67108864\n");
  const auto read = [&](const char* file, const char* device, const char* field) {
    return read_back({"", "", dir.path(file), "", device, field});
  };
  EXPECT_EQ(read("v1", "7:3", ""), "100");
  EXPECT_EQ(read("v1", "7:4", ""), "");
  EXPECT_EQ(read("v2", "7:3", "riops"), "500");
  EXPECT_EQ(read("v2", "7:3", "rbps"), "max");
  EXPECT_EQ(read("v2", "7:3", "bps"), "");
  EXPECT_EQ(read("memory", "", ""), "67108864");
  EXPECT_EQ(read("missing", "", ""), "");
}

}  // namespace
}  // namespace blksweep
