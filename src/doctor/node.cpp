// What else of the node an experiment uses: cgroups, memory, CPU frequency, other programs.
#include <fmt/format.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include "base/text.h"
#include "base/units.h"
#include "disk/disk.h"
#include "doctor/checks.h"
#include "loader/settings.h"
#include "node/journal/folder.h"
#include "node/journal/undo_journal.h"
#include "node/limits/plan.h"
#include "os/block/blockdev.h"
#include "os/file/file.h"
#include "os/memory/memory_room.h"
#include "os/memory/reclaim.h"
#include "os/process/process.h"
#include "trace/fio_program.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFioFix = "apt-get install fio";

struct LimitLine {
  const char *name, *options;
  LimitWish wish;
};

// Plans a limit as a run would, so that both find the same thing missing.
Check check_limit(const LimitLine& line) {
  const std::string consequence = fmt::format("{} ends a run with exit 77", line.options);
  const auto plan = plan_limits(line.wish, "blksweep-doctor");
  if (!plan) {
    return {line.name, Health::missing, plan.error().message(), consequence,
            "a kernel (and boot options) with the controller, its hierarchy mounted writable"};
  }
  const LimitGroup& group = plan->groups.front();
  const std::string folder = fs::path(group.folder).parent_path();
  const std::string found = fmt::format("v{} {}", group.version, folder);
  if (::access(folder.c_str(), W_OK | X_OK) != 0) {
    return {line.name, Health::missing, found + ": no group can be made there", consequence,
            "run as root (in a container: a writable /sys/fs/cgroup)"};
  }
  return ok(line.name, found + ": a group can be made");
}

bool loaded(const char* misc_device) {
  return ::access((std::string("/sys/class/misc/") + misc_device).c_str(), F_OK) == 0;
}

// What its owner changed and did not put back.
void add_lent(const Journal& journal, std::vector<std::string>& out) {
  for (const JournalRecord& record : journal.records) {
    if (!record.undone) {
      out.push_back(
          fmt::format("{} (of {}, which is dead)", record.loan.what, holder_text(journal.owner)));
    }
  }
}

}  // namespace

Check check_cgroup_memory(const Subject&) {
  LimitWish wish;
  wish.memory = Bytes{std::uint64_t{1} << 30};
  return check_limit({"cgroup memory", "--memory-limit", wish});
}

Check check_cgroup_io(const Subject& s) {
  LimitWish wish;
  wish.read_iops = 1000;
  wish.disk = s.source.device ? s.source.device->whole_disk
                              : makedev(1, 0);  // which disk is no matter here
  return check_limit({"cgroup I/O", "--bandwidth-limit or --iops-limit", wish});
}

Check check_memory(const Subject&) {
  const auto amount = [](const char* key) { return meminfo(key).value_or(Bytes{0}); };
  const MemoryRoom room = memory_room();
  if (!room.available) {
    return {"memory", Health::limited, "unknown: no /proc/meminfo",
            "a window that does not fit is found out by the run", "mount /proc"};
  }
  const std::string found =
      fmt::format("{}, {} available{}, swap {}", format_bytes(amount("MemTotal")),
                  format_bytes(*room.available),
                  room.of_cgroup() ? ", cgroup limit " + format_bytes(*room.cgroup_limit) : "",
                  format_bytes(amount("SwapTotal")));
  const Bytes window = LoaderSettings{}.window.bytes;
  if (room.least()->n < 4 * window.n) {
    return {"memory", Health::limited, found,
            fmt::format("too little for windows beyond the default of {}", format_bytes(window)),
            room.of_cgroup() ? "a smaller --window, or a larger limit"
                             : "a smaller --window, or end other programs"};
  }
  return ok("memory", found);
}

Check check_left_behind(const Subject&) {
  constexpr const char* kName = "left behind";
  const auto journals = look_at_journals();
  if (!journals) {
    return {kName, Health::limited, journals.error().text,
            "whether a killed run left its settings behind is not known", "run as root"};
  }
  std::vector<std::string> left;
  for (const FoundJournal& found : *journals) {
    if (!found.journal) {
      left.push_back(found.journal.error().text);
    } else if (!found.journal->owner.kept && !is_alive(found.journal->owner.id)) {
      add_lent(*found.journal, left);
    }
  }
  if (left.empty()) {
    return ok(kName, "nothing of a run that was killed");
  }
  return {kName, Health::limited, joined(left, ", "),
          "the node is not as its user set it; the next run that wants one of them puts that back",
          "blksweep node restore"};
}

Check check_reclaim(const Subject&) {
  const std::vector<std::string> found = early_reclaimers();
  if (found.empty()) {
    return ok("page reclaim", "only when memory is short");
  }
  return {"page reclaim", Health::limited, joined(found, ", "),
          "cached pages leave before memory is short: warm runs may end incomplete",
          "while measuring: echo off > /sys/kernel/mm/damon/admin/kdamonds/N/state; "
          "echo N > /sys/module/damon_reclaim/parameters/enabled"};
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
  const std::string found = joined(governors, " ");
  if (governors == std::set<std::string>{"performance"}) {
    return ok("CPU governor", found);
  }
  return {"CPU governor", Health::limited, found,
          "CPU times and small latencies vary with the frequency",
          "blksweep node set --governor performance (node restore puts it back)"};
}

Check check_fio(const Subject&) {
  const auto version = fio_version();
  if (!version) {
    return {"fio", Health::missing, version.error().message(),
            "--fio-twin: every run says so and has no fio_ratio (NULL)", kFioFix};
  }
  const auto engines =
      run_process({.argv = {"fio", "--enghelp"}, .timeout = std::chrono::seconds(30)});
  if (!engines) {
    return {"fio", Health::limited,
            *version + "; which engines it has is not known: " + engines.error().message(),
            "a twin of a run whose engine it lacks fails", "blksweep doctor, once more"};
  }
  std::string found = *version;
  std::string lacks;
  for (const char* engine : {"io_uring", "libaio", "psync"}) {
    const bool has =
        engines->ok() && engines->out.find(std::string("\t") + engine + "\n") != std::string::npos;
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
