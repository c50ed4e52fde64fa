#include "os/noise.h"

#include <time.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <sstream>
#include <string_view>

#include "base/clock.h"
#include "os/cgroup.h"
#include "os/file.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kSteal = 8;               // field of "cpu", its name counted
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

std::string own_cpu_stat() {
  const CgroupPlace place = cgroup_place(Controller::cpu);
  return place.own.empty() ? "" : place.own + "/cpu.stat";
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

}  // namespace

NoiseCounters noise_counters(const NoiseSources& sources) {
  NoiseCounters c;
  c.steal_ns = steal(first_line(sources.proc + "/stat"));
  c.cpu_pressure_ns = pressure(sources.proc + "/pressure/cpu");
  c.io_pressure_ns = pressure(sources.proc + "/pressure/io");
  c.memory_pressure_ns = pressure(sources.proc + "/pressure/memory");
  c.throttled_ns = throttled(sources.cpu_stat.empty() ? own_cpu_stat() : sources.cpu_stat);
  const Sum hot = of_cpus(sources.cpus, "thermal_throttle/core_throttle_count");
  const Sum clock = of_cpus(sources.cpus, "cpufreq/scaling_cur_freq");
  c.thermal_throttles = hot.files > 0 ? std::optional(hot.of) : std::nullopt;
  c.cpu_khz = clock.files > 0 ? std::optional(clock.of / clock.files) : std::nullopt;
  return c;
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
