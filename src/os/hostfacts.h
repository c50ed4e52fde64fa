// Facts of this node that every run of an experiment carries.
//
// Source:  uname(2), /proc/cpuinfo, sysconf(3), /proc/self/cgroup and the limits of that cgroup
//          (Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/).
// Errors:  none; what cannot be read stays empty or 0.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace blksweep {

struct HostFacts {
  std::string kernel;  // "Linux 6.1.0-18-amd64 x86_64"
  std::string cpu;     // model name
  std::string hostname;
  std::uint32_t cpus = 0;  // that this process may run on
  std::uint64_t memory_bytes = 0;
  std::string cgroup;  // "v2 /user.slice memory.max=max cpu.max=max 100000"
};

HostFacts read_host_facts();
std::string cgroup_limits();  // HostFacts::cgroup as it is now
// Of the calling thread, as the kernel writes it ("0-3"); empty where /proc does not say.
std::string allowed_cpus();
std::uint32_t usable_cpus();  // HostFacts::cpus as it is now; 0: not known

// The same from given texts, for tests: /proc/self/cgroup, and the folder at which cgroups are.
std::string cgroup_limits_in(const std::string& groups, const std::string& root);
// "model name" of /proc/cpuinfo, "" when there is none.
std::string cpu_model(std::string_view cpuinfo);

}  // namespace blksweep
