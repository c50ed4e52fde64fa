// CPUs that were taken away and brought back are seen by who wrote their files.
#include "os/block/setting_watch.h"

#include <gtest/gtest.h>

#include "support/temp_dir.h"

namespace blksweep {
namespace {

TEST(SettingWatch, SeesThatACpuWasTakenAwayAlsoWhenItIsBack) {
  const TempDir dir;
  for (const char* file : {"cpu1/online", "cpu12/online", "cpu1/uevent", "smt/control",
                           "cpufreq/online", "cpuidle/control"}) {
    dir.write(file, "1");
  }
  SettingWatch watch;
  watch.add_cpus(dir.path());
  EXPECT_EQ(watch.written(), "");
  dir.write("cpufreq/online", "0");
  dir.write("cpuidle/control", "0");
  dir.write("cpu1/uevent", "change");
  EXPECT_EQ(watch.written(), "") << "they take no CPU away";
  dir.write("cpu12/online", "0");
  dir.write("cpu12/online", "1");
  EXPECT_NE(watch.written().find(": cpu12 online"), std::string::npos) << watch.written();
  dir.write("smt/control", "off");
  EXPECT_NE(watch.written().find(": cpu12 online, smt control"), std::string::npos);
  watch.add_cpus(dir.path("nothing"));
}

TEST(SettingWatch, SeesLimitsOfAGroupAndNotWhoEntersIt) {
  const TempDir dir;
  for (const char* file : {"cgroup.procs", "cpu.cfs_period_us", "cpuset.cpus"}) {
    dir.write(file, "1");
  }
  SettingWatch watch;
  watch.add_group(dir.path());
  dir.write("cgroup.procs", "1");
  EXPECT_EQ(watch.written(), "");
  dir.write("cpu.cfs_period_us", "1");
  dir.write("cpuset.cpus", "1");
  EXPECT_NE(watch.written().find(": cgroup cpu.cfs_period_us, cgroup cpuset.cpus"),
            std::string::npos);
}

}  // namespace
}  // namespace blksweep
