#include "os/noise.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/temp_dir.h"

namespace blksweep {
namespace {

void write(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path) << text;
}

TEST(NoiseCounters, AreReadInNanoseconds) {
  const TempDir dir;
  const NoiseSources at{dir.path() + "/proc", dir.path() + "/cpu", dir.path() + "/cpu.stat"};
  write(at.proc + "/stat", "cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 1 1 1 1 1 1 1 1 1\n");
  write(at.proc + "/pressure/cpu",
        "some avg10=0.00 avg60=0.92 avg300=6.50 total=2000\nfull total=9\n");
  write(at.cpu_stat, "nr_periods 5\nnr_throttled 2\nthrottled_usec 70\n");
  write(at.cpus + "/cpu0/cpufreq/scaling_cur_freq", "1000000\n");
  write(at.cpus + "/cpu1/cpufreq/scaling_cur_freq", "3000000\n");
  const NoiseCounters c = noise_counters(at);
  EXPECT_EQ(c.steal_ns, 8 * 10'000'000);
  EXPECT_EQ(c.cpu_pressure_ns, 2'000'000);
  EXPECT_EQ(c.throttled_ns, 70'000);
  EXPECT_EQ(c.cpu_khz, 2'000'000U);
  EXPECT_FALSE(c.io_pressure_ns);  // unknown is no 0
  EXPECT_FALSE(c.cache_drops);
  write(at.proc + "/vmstat", "nr_free_pages 7\ndrop_pagecache 3\ndrop_slab 2\noom_kill 0\n");
  EXPECT_EQ(noise_counters(at).cache_drops, 5U);
  EXPECT_FALSE(c.thermal_throttles);
  write(at.cpu_stat, "nr_periods 5\nthrottled_time 70\n");  // v1
  EXPECT_EQ(noise_counters(at).throttled_ns, 70);
}

TEST(NoiseCounters, AQuotaOfAGroupAboveHoldsItsMembersToo) {
  const TempDir dir;
  write(dir.path() + "/pod/cpu.stat", "throttled_usec 900\n");
  write(dir.path() + "/pod/ours/cpu.stat", "throttled_usec 5\n");
  write(dir.path() + "/cpu.stat", "usage_usec 1\n");
  const NoiseSources at{.cpu_stat = dir.path() + "/pod/ours/cpu.stat", .cpu_top = dir.path()};
  EXPECT_EQ(noise_counters(at).throttled_ns, 905'000);
}

TEST(QuotaWarning, ComesAboveATwentiethOfTheTime) {
  EXPECT_EQ(quota_warning(50, 1000), "");
  EXPECT_NE(quota_warning(51'000'000, 1'000'000'000).find("for 51 ms within 1 s"),
            std::string::npos);
}

TEST(SpinWork, TakesCpuTime) {
  const SpinTime spin = spin_work();
  EXPECT_GT(spin.cpu_ns, 100'000);
  // Two clocks, of which NTP slews one.
  EXPECT_GE(spin.wall_ns + spin.wall_ns / 100 + 1000, spin.cpu_ns);
}

}  // namespace
}  // namespace blksweep
