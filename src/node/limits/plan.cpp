#include "node/limits/plan.h"

#include <fmt/format.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "os/file/file.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

// Below that a program is killed while it is loaded, before it has read anything.
constexpr Bytes kLeastMemory{std::uint64_t{8} << 20};

Result<> check_wish(const LimitWish& wish) {
  if (wish.memory && *wish.memory < kLeastMemory) {
    return usage_error(
        fmt::format("memory limit of {}: too small for any reader to live in; give at least {}",
                    format_bytes(*wish.memory), format_bytes(kLeastMemory)));
  }
  if (wish.read_bytes_per_s == std::uint64_t{0} || wish.read_iops == std::uint64_t{0}) {
    return usage_error("I/O limit of 0: nothing could be read; leave the limit out for none");
  }
  if (wish.any_io() && wish.disk == 0) {
    return usage_error("I/O limit: say for which device");
  }
  return {};
}

const char* limit_word(Controller controller) {
  return controller == Controller::memory ? "memory limit" : "I/O limit";
}

Result<CgroupPlace> reachable(Controller controller, const CgroupSources& sources) {
  CgroupPlace place = cgroup_place(controller, sources);
  const std::string_view name = controller_name(controller, place.version);
  if (place.version == 0) {
    return unsupported(fmt::format(
        "{}: no cgroup {} controller here ({}); mount it (mount -t cgroup -o {} cgroup DIR, or "
        "cgroup2), boot with it, or leave the limit out",
        limit_word(controller), name, cgroup_summary(sources), controller_name(controller, 1)));
  }
  if (place.own.empty()) {
    return unsupported(
        fmt::format("{}: this process's {} group lies outside of {}, as seen in some containers; "
                    "run on the host, or with the host's cgroup namespace",
                    limit_word(controller), name, place.mount));
  }
  if (place.read_only) {
    return unsupported(fmt::format(
        "{}: {} is mounted read-only, as containers have it; run on the host, or in a container "
        "with a writable cgroup mount",
        limit_word(controller), place.mount));
  }
  return place;
}

std::string parent_for_new(const CgroupPlace& place) {
  if (place.version == 1 || place.own == place.mount) {
    return place.own;
  }
  return fs::path(place.own).parent_path().string();
}

// From the topmost group down to `parent`, that one included.
std::vector<std::string> levels(const std::string& mount, const std::string& parent) {
  std::vector<std::string> down{parent};
  while (down.back().size() > mount.size()) {
    down.push_back(fs::path(down.back()).parent_path().string());
  }
  std::ranges::reverse(down);
  return down;
}

void switch_on(const CgroupPlace& place, std::string_view controller, LimitPlan& plan) {
  for (const std::string& level : levels(place.mount, parent_for_new(place))) {
    const std::string file = level + "/cgroup.subtree_control";
    plan.controllers.push_back({file, std::string(controller), shares_out(file, controller)});
  }
}

// The same group for both controllers where they share a hierarchy.
LimitGroup& group_in(const CgroupPlace& place, const std::string& name, LimitPlan& plan) {
  const std::string folder = parent_for_new(place) + "/" + name;
  const auto known = std::ranges::find(plan.groups, folder, &LimitGroup::folder);
  if (known != plan.groups.end()) {
    return *known;
  }
  return plan.groups.emplace_back(LimitGroup{place.version, folder, place.own, false, false});
}

void plan_memory(const LimitWish& wish, LimitGroup& group, LimitPlan& plan) {
  group.memory = true;
  const std::string asked = std::to_string(wish.memory->n);
  const char* file = group.version == 1 ? "/memory.limit_in_bytes" : "/memory.max";
  plan.values.push_back({"memory_limit_bytes", asked, group.folder + file, asked, "", ""});
}

struct IoLimit {
  const char *name, *v1_file, *v2_field;
  std::optional<std::uint64_t> value;
};

void plan_io(const LimitWish& wish, LimitGroup& group, LimitPlan& plan) {
  group.io = true;
  const std::string device = fmt::format("{}:{}", major(wish.disk), minor(wish.disk));
  for (const IoLimit& limit :
       {IoLimit{"read_bytes_per_s", "read_bps_device", "rbps", wish.read_bytes_per_s},
        IoLimit{"read_iops", "read_iops_device", "riops", wish.read_iops}}) {
    if (!limit.value) {
      continue;
    }
    const std::string asked = std::to_string(*limit.value);
    if (group.version == 1) {
      plan.values.push_back({limit.name, asked, group.folder + "/blkio.throttle." + limit.v1_file,
                             device + " " + asked, device, ""});
    } else {
      plan.values.push_back({limit.name, asked, group.folder + "/io.max",
                             fmt::format("{} {}={}", device, limit.v2_field, asked), device,
                             limit.v2_field});
    }
  }
}

}  // namespace

bool shares_out(const std::string& subtree_control, std::string_view controller) {
  return std::ranges::count(words_in_file(subtree_control), controller) > 0;
}

Result<LimitPlan> plan_limits(const LimitWish& wish, const std::string& name,
                              const CgroupSources& sources) {
  BLKSWEEP_CHECK(check_wish(wish));
  LimitPlan plan;
  for (const Controller controller : {Controller::memory, Controller::io}) {
    if (controller == Controller::memory ? !wish.memory : !wish.any_io()) {
      continue;
    }
    BLKSWEEP_TRY(const CgroupPlace place, reachable(controller, sources));
    if (place.version == 2) {
      switch_on(place, controller_name(controller, 2), plan);
    }
    LimitGroup& group = group_in(place, name, plan);
    if (controller == Controller::memory) {
      plan_memory(wish, group, plan);
    } else {
      plan_io(wish, group, plan);
    }
  }
  return plan;
}

std::string read_back(const LimitValue& value) {
  if (value.device.empty()) {
    return first_line(value.file);
  }
  std::ifstream in(value.file);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (word != value.device) {
      continue;
    }
    while (words >> word) {
      if (value.field.empty()) {
        return word;
      }
      if (word.starts_with(value.field + "=")) {
        return word.substr(value.field.size() + 1);
      }
    }
  }
  return {};
}

}  // namespace blksweep
