// What else of the node an experiment uses: cgroups, memory, CPU frequency, other programs.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>
#include <sstream>

#include "base/units.h"
#include "disk/disk.h"
#include "lab/cell.h"
#include "lab/doctor_checks.h"
#include "lab/fio_twin.h"
#include "os/blockdev.h"
#include "os/file.h"
#include "os/process.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFioFix = "apt-get install fio";

// Of one controller: where this process is in its hierarchy.
struct Controller {
  std::string version;  // "v1", "v2"; "" when no mounted hierarchy has it
  std::string folder;   // in which a group would be made
};

bool has_word(const std::string& list, const std::string& word, char separator) {
  std::istringstream in(list);
  for (std::string w; std::getline(in, w, separator);) {
    if (w == word) {
      return true;
    }
  }
  return false;
}

std::string own_folder(const std::string& mount_point, const std::string& path) {
  std::error_code ec;
  const std::string folder = mount_point + (path == "/" ? "" : path);
  return fs::is_directory(folder, ec) ? folder
                                      : mount_point;  // a container shows its own part only
}

// v2: a group with controllers must hold no processes, so a new one goes beside our own.
Controller unified(const std::string& path, const std::string& name) {
  for (const MountFacts& m : mounts()) {
    const std::string folder = own_folder(m.mount_point, path);
    if (m.filesystem == "cgroup2" &&
        has_word(first_line(folder + "/cgroup.controllers"), name, ' ')) {
      return {"v2", folder == m.mount_point ? folder : fs::path(folder).parent_path().string()};
    }
  }
  return {};
}

Controller legacy(const std::string& path, const std::string& name) {
  for (const MountFacts& m : mounts()) {
    const std::size_t super = m.options.find(';');
    if (m.filesystem == "cgroup" && super != std::string::npos &&
        has_word(m.options.substr(super + 1), name, ',')) {
      return {"v1", own_folder(m.mount_point, path)};
    }
  }
  return {};
}

// "7:blkio:/" (v1) or "0::/user.slice" (v2) of /proc/self/cgroup.
Controller find_controller(const std::string& v1_name, const std::string& v2_name) {
  std::istringstream lines(whole_text("/proc/self/cgroup"));
  Controller found;
  for (std::string line; found.version.empty() && std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) {
      continue;
    }
    const std::string names = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    found = names.empty()                   ? unified(path, v2_name)
            : has_word(names, v1_name, ',') ? legacy(path, v1_name)
                                            : Controller{};
  }
  return found;
}

struct LimitNames {
  const char *line, *v1, *v2, *v1_file, *options;
};

Check check_controller(const LimitNames& n) {
  const Controller c = find_controller(n.v1, n.v2);
  const std::string consequence = fmt::format("{} ends a run with exit 77", n.options);
  if (c.version.empty()) {
    return {n.line, Health::missing, fmt::format("no controller {} (v1) or {} (v2)", n.v1, n.v2),
            consequence,
            "mount the cgroup hierarchy; a kernel (and boot options) with the controller"};
  }
  const std::string found = fmt::format("{} {}", c.version, c.folder);
  if (c.version == "v1" && ::access((c.folder + "/" + n.v1_file).c_str(), F_OK) != 0) {
    return {n.line, Health::missing, fmt::format("{} has no {}", found, n.v1_file), consequence,
            "a kernel with CONFIG_MEMCG and CONFIG_BLK_DEV_THROTTLING"};
  }
  if (::access(c.folder.c_str(), W_OK | X_OK) != 0) {
    return {n.line, Health::missing, found + ": no group can be made there", consequence,
            "run as root (in a container: a writable /sys/fs/cgroup)"};
  }
  return ok(n.line, found + ": a group can be made");
}

std::uint64_t meminfo(const std::string& text, const std::string& key) {
  const std::size_t at = text.find(key + ":");
  std::uint64_t kib = 0;
  if (at != std::string::npos) {
    const std::size_t digit = text.find_first_of("0123456789", at);
    std::from_chars(text.data() + std::min(digit, text.size()), text.data() + text.size(), kib);
  }
  return kib * 1024;
}

bool loaded(const char* misc_device) {
  return ::access((std::string("/sys/class/misc/") + misc_device).c_str(), F_OK) == 0;
}

}  // namespace

Check check_cgroup_memory(const Subject&) {
  return check_controller(
      {"cgroup memory", "memory", "memory", "memory.limit_in_bytes", "--memory-limit"});
}

Check check_cgroup_io(const Subject&) {
  return check_controller({"cgroup I/O", "blkio", "io", "blkio.throttle.read_bps_device",
                           "--bandwidth-limit or --iops-limit"});
}

Check check_memory(const Subject&) {
  const std::string text = whole_text("/proc/meminfo");
  const std::uint64_t available = meminfo(text, "MemAvailable");
  const std::string found =
      fmt::format("{}, {} available, swap {}", format_bytes({meminfo(text, "MemTotal")}),
                  format_bytes({available}), format_bytes({meminfo(text, "SwapTotal")}));
  const Bytes window = CellSettings{}.window.bytes;
  if (available < 4 * window.n) {
    return {"memory", Health::limited, found,
            fmt::format("too little for windows beyond the default of {}", format_bytes(window)),
            "a smaller --window, or end other programs"};
  }
  return ok("memory", found);
}

Check check_governor(const Subject&) {
  std::set<std::string> governors;
  std::error_code ec;
  for (const auto& cpu : fs::directory_iterator("/sys/devices/system/cpu", ec)) {
    if (const std::string g = first_line(cpu.path() / "cpufreq/scaling_governor"); !g.empty()) {
      governors.insert(g);
    }
  }
  if (governors.empty()) {
    return ok("CPU governor", "none: the kernel does not set the frequency");
  }
  const std::string found = fmt::format("{}", fmt::join(governors, " "));
  if (governors == std::set<std::string>{"performance"}) {
    return ok("CPU governor", found);
  }
  return {"CPU governor", Health::limited, found,
          "CPU times and small latencies vary with the frequency",
          "cpupower frequency-set -g performance"};
}

Check check_fio(const Subject&) {
  const auto version = fio_version();
  if (!version) {
    return {"fio", Health::missing, version.error().message(),
            "--fio-twin: every run says so and has no fio_ratio (NULL)", kFioFix};
  }
  const auto engines =
      run_process({.argv = {"fio", "--enghelp"}, .timeout = std::chrono::seconds(30)});
  std::string found = *version;
  std::string lacks;
  for (const char* engine : {"io_uring", "libaio", "psync"}) {
    const bool has = engines && engines->ok() &&
                     engines->out.find(std::string("\t") + engine + "\n") != std::string::npos;
    (has ? found : lacks) += std::string(" ") + engine;
  }
  if (lacks.empty()) {
    return ok("fio", found);
  }
  return {"fio", Health::limited, found + "; without" + lacks, "no twin for runs with that engine",
          "a fio that was built with it"};
}

Check check_figures(const Subject& s) {
  if (s.figures) {
    return ok("figures", *s.figures + " with numpy and matplotlib");
  }
  return {"figures", Health::missing, s.figures.error().message(),
          "report has tables and CSV, but no pictures, and ends with exit 3",
          "apt-get install python3-matplotlib, or set BLKSWEEP_PYTHON and BLKSWEEP_SCRIPTS"};
}

Check check_emulated(const Subject&) {
  const std::string consequence = "disk start ends with exit 77";
  if (loaded("fuse") && loaded("loop-control")) {
    const Result<> rights = check_disk_rights();
    return rights ? ok("emulated disk", "FUSE and loop devices")
                  : Check{"emulated disk", Health::missing, rights.error().message(), consequence,
                          "root, /dev/fuse and /dev/loop-control"};
  }
  const std::string lack = std::string(loaded("fuse") ? "" : "fuse ") +
                           (loaded("loop-control") ? "" : "loop ") + "not loaded";
  return {"emulated disk", Health::limited, lack,
          "disk start works if opening /dev/fuse and /dev/loop-control loads the modules",
          "modprobe -a fuse loop"};
}

}  // namespace blksweep
