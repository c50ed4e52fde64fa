// What takes time from a measurement without being part of it, as far as the kernel tells: counters
// to be read before and after, and a piece of fixed work to be timed.
//
// Counters: since boot, or since the cgroup was made; unknown where there is no such file.
// Source:   proc_stat(5) (steal), /proc/vmstat (drop_pagecache, drop_slab),
//           Documentation/accounting/psi.rst, cgroup v1 and v2 cpu.stat, cpufreq and
//           thermal_throttle below /sys/devices/system/cpu.
// Threads:  any; spin_work() is of the calling thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace blksweep {

struct NoiseSources {  // other folders than the kernel's, for tests
  std::string proc = "/proc";
  std::string cpus = "/sys/devices/system/cpu";
  std::string cpu_stat = {};  // empty: of this process's cgroup
  std::string cpu_top = {};   // with cpu_stat: folder of the topmost group, empty: of the same
};

struct NoiseCounters {
  std::optional<std::int64_t> steal_ns;  // all CPUs together
  std::optional<std::int64_t> cpu_pressure_ns, io_pressure_ns, memory_pressure_ns;  // "some"
  // By its cgroup's quota or that of one above, whichever group it hit; all CPUs together.
  std::optional<std::int64_t> throttled_ns;
  std::optional<std::uint64_t> thermal_throttles;
  // By drop_caches, pages and slabs apart: what was dropped is read again, metadata too.
  std::optional<std::uint64_t> cache_drops;
  std::optional<std::uint64_t> cpu_khz;  // not a counter: the mean over the CPUs now
};
NoiseCounters noise_counters(const NoiseSources& sources = {});

// Says so when a quota held its group for more than a twentieth of `wall_ns`; else empty.
std::string quota_warning(std::int64_t throttled_ns, std::int64_t wall_ns);

struct SpinTime {
  std::int64_t wall_ns = 0, cpu_ns = 0;
};
// The same work each time, 15 ms or so: several time slices, because a task that slept gets its
// first one at once (of 6 ms half passed undisturbed beside three others). Who shares the CPU shows
// in wall_ns, how fast it is clocked in cpu_ns.
SpinTime spin_work();

}  // namespace blksweep
