#include "os/hostfacts.h"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <sstream>

#include "os/file/file.h"

namespace blksweep {
namespace {

void add_limit(std::string& text, const std::string& directory, const char* name) {
  if (const std::string value = first_line(directory + "/" + name); !value.empty()) {
    text.append(" ").append(name).append("=").append(value);
  }
}

}  // namespace

std::uint32_t usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) {
    return static_cast<std::uint32_t>(CPU_COUNT(&set));
  }
  const long n = ::sysconf(_SC_NPROCESSORS_ONLN);
  return n > 0 ? static_cast<std::uint32_t>(n) : 0;
}

std::string cgroup_limits() {
  return cgroup_limits_in(whole_text("/proc/self/cgroup"), "/sys/fs/cgroup");
}

// v1 mounts one hierarchy per controller; v2 has one line "0::/path".
std::string cgroup_limits_in(const std::string& groups, const std::string& root) {
  std::istringstream lines(groups);
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) {
      continue;
    }
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    std::string found;
    if (controllers.empty()) {
      found = "v2 " + path;
      for (const char* name : {"memory.max", "memory.high", "cpu.max", "io.max"}) {
        add_limit(found, root + path, name);
      }
    } else if (controllers == "memory" || controllers == "blkio" || controllers == "cpu" ||
               controllers == "cpu,cpuacct") {
      const std::string directory = root + "/" + controllers + path;
      found = "v1 " + controllers + " " + path;
      for (const char* name : {"memory.limit_in_bytes", "blkio.throttle.read_bps_device",
                               "blkio.throttle.read_iops_device", "cpu.cfs_quota_us"}) {
        add_limit(found, directory, name);
      }
    } else {
      continue;
    }
    text.append(text.empty() ? "" : "; ").append(found);
  }
  return text;
}

std::string cpu_model(std::string_view cpuinfo) {
  constexpr std::string_view kKey = "model name";
  const std::size_t at = cpuinfo.find(kKey);
  const std::size_t colon = at == std::string_view::npos ? at : cpuinfo.find(':', at);
  if (colon == std::string_view::npos) {
    return {};
  }
  std::string_view value = cpuinfo.substr(colon + 1);
  value = value.substr(0, value.find('\n'));
  const std::size_t begin = value.find_first_not_of(" \t");
  return begin == std::string_view::npos ? std::string{} : std::string(value.substr(begin));
}

HostFacts read_host_facts() {
  HostFacts h;
  if (utsname u{}; ::uname(&u) == 0) {
    h.kernel = std::string(u.sysname) + " " + u.release + " " + u.machine;
    h.hostname = u.nodename;
  }
  h.cpu = cpu_model(whole_text("/proc/cpuinfo"));
  h.cpus = usable_cpus();
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page = ::sysconf(_SC_PAGESIZE);
  if (pages > 0 && page > 0) {
    h.memory_bytes = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page);
  }
  h.cgroup = cgroup_limits();
  return h;
}

std::string allowed_cpus() {
  constexpr std::string_view kField = "Cpus_allowed_list:";
  const std::string status = whole_text("/proc/thread-self/status");
  const std::size_t at = status.find(kField);
  if (at == std::string::npos) {
    return "";
  }
  const std::size_t begin = status.find_first_not_of(" \t", at + kField.size());
  return status.substr(begin, status.find('\n', begin) - begin);
}

}  // namespace blksweep
