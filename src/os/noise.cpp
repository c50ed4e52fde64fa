#include "os/noise.h"

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <sstream>
#include <string_view>

#include "base/clock.h"
#include "base/units.h"
#include "os/cgroup.h"
#include "os/file/file.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kSteal = 8;               // field of "cpu", its name counted
constexpr double kHeld = 0.05;                  // of the time; rounds are judged by as much
constexpr std::uint64_t kSpinSteps = 10 << 20;  // about 15 ms

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t n = 0;
  const auto [rest, ec] = std::from_chars(text.data(), text.data() + text.size(), n);
  return ec == std::errc{} ? std::optional(n) : std::nullopt;
}

std::optional<std::int64_t> steal(const std::string& stat) {
  std::istringstream line(stat);
  std::string word;
  for (std::size_t i = 0; i <= kSteal; ++i) {
    if (!(line >> word)) {
      return std::nullopt;
    }
  }
  const auto ticks = number(word);
  return ticks ? std::optional(*ticks * (1'000'000'000 / ::sysconf(_SC_CLK_TCK))) : std::nullopt;
}

// "some avg10=0.00 avg60=0.00 avg300=0.00 total=123": microseconds.
std::optional<std::int64_t> pressure(const std::string& path) {
  const std::string line = first_line(path);
  const std::size_t at = line.find("total=");
  const auto us =
      at == std::string::npos ? std::nullopt : number(std::string_view(line).substr(at + 6));
  return us ? std::optional(*us * 1000) : std::nullopt;
}

// "throttled_usec 5" (v2), "throttled_time 5000" (v1, ns).
std::optional<std::int64_t> throttled(const std::string& path) {
  std::istringstream lines(whole_text(path));
  std::string name;
  for (std::int64_t value = 0; lines >> name >> value;) {
    if (name == "throttled_usec" || name == "throttled_time") {
      return name == "throttled_usec" ? value * 1000 : value;
    }
  }
  return std::nullopt;
}

// A quota of a group above holds its members as well, and is counted there alone.
std::optional<std::int64_t> throttled_up_to(fs::path group, const fs::path& top) {
  std::optional<std::int64_t> sum;
  for (;; group = group.parent_path()) {
    if (const auto ns = throttled((group / "cpu.stat").string())) {
      sum = sum.value_or(0) + *ns;
    }
    if (group == top || !group.has_relative_path()) {
      return sum;
    }
  }
}

std::optional<std::int64_t> throttled_here(const NoiseSources& sources) {
  if (!sources.cpu_stat.empty()) {
    const fs::path group = fs::path(sources.cpu_stat).parent_path();
    return throttled_up_to(group, sources.cpu_top.empty() ? group : fs::path(sources.cpu_top));
  }
  const CgroupPlace place = cgroup_place(Controller::cpu);
  return place.own.empty() ? std::nullopt : throttled_up_to(place.own, place.mount);
}

struct Sum {
  std::uint64_t of = 0, files = 0;
};

// Over cpu0, cpu1, ...
Sum of_cpus(const std::string& folder, const char* file) {
  Sum sum;
  std::error_code ec;
  for (auto it = fs::directory_iterator(folder, ec); !ec && it != fs::directory_iterator();
       it.increment(ec)) {
    const std::string line = first_line((it->path() / file).string());
    if (const auto n = number(line); n && *n >= 0) {
      sum.of += static_cast<std::uint64_t>(*n);
      ++sum.files;
    }
  }
  return sum;
}

std::optional<std::uint64_t> cache_drops(const std::string& vmstat) {
  std::istringstream lines(vmstat);
  std::optional<std::uint64_t> sum;
  std::string name;
  for (std::uint64_t count = 0; lines >> name >> count;) {
    if (name == "drop_pagecache" || name == "drop_slab") {
      sum = sum.value_or(0) + count;
    }
  }
  return sum;
}

}  // namespace

NoiseCounters noise_counters(const NoiseSources& sources) {
  NoiseCounters c;
  c.steal_ns = steal(first_line(sources.proc + "/stat"));
  c.cpu_pressure_ns = pressure(sources.proc + "/pressure/cpu");
  c.io_pressure_ns = pressure(sources.proc + "/pressure/io");
  c.memory_pressure_ns = pressure(sources.proc + "/pressure/memory");
  c.throttled_ns = throttled_here(sources);
  c.cache_drops = cache_drops(whole_text(sources.proc + "/vmstat"));
  const Sum hot = of_cpus(sources.cpus, "thermal_throttle/core_throttle_count");
  const Sum clock = of_cpus(sources.cpus, "cpufreq/scaling_cur_freq");
  c.thermal_throttles = hot.files > 0 ? std::optional(hot.of) : std::nullopt;
  c.cpu_khz = clock.files > 0 ? std::optional(clock.of / clock.files) : std::nullopt;
  return c;
}

std::string quota_warning(std::int64_t throttled_ns, std::int64_t wall_ns) {
  if (static_cast<double>(throttled_ns) <= kHeld * static_cast<double>(wall_ns)) {
    return "";
  }
  return fmt::format(
      "a CPU quota held the cgroup of this process for {} within {} (all CPUs together): the times "
      "are those of the quota (cpu.max, cpu.cfs_quota_us; of its group or of one above)",
      format_duration(Nanos(throttled_ns)), format_duration(Nanos(wall_ns)));
}

SpinTime spin_work() {
  const std::int64_t wall = now_ns(), cpu = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
  std::uint64_t x = 88172645463325252ULL;
  for (std::uint64_t i = 0; i < kSpinSteps; ++i) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
  }
  __asm__ volatile("" : : "r"(x));  // else the compiler leaves the work out
  return {now_ns() - wall, cpu_ns(CLOCK_THREAD_CPUTIME_ID) - cpu};
}

}  // namespace blksweep
