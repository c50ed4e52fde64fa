#include "os/cgroup.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>

#include "os/block/blockdev.h"
#include "os/file/file.h"

namespace blksweep {
namespace {

bool has_word(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const std::size_t end = list.find_first_of(",;");
    if (list.substr(0, end) == word) {
      return true;
    }
    list.remove_prefix(end == std::string_view::npos ? list.size() : end + 1);
  }
  return false;
}

// The path of the process in the hierarchy of `controller` ("" is that of v2), from lines such as
// "4:memory:/jobs/7" and "0::/user.slice".
std::optional<std::string> membership_of(std::string_view controller, const std::string& file) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) {
      continue;
    }
    const std::string list = line.substr(first + 1, second - first - 1);
    if (controller.empty() ? list.empty() : has_word(list, controller)) {
      return line.substr(second + 1);
    }
  }
  return std::nullopt;
}

// A mount may show a part of the hierarchy only (`root`), as in containers.
std::string folder_in(const MountFacts& mount, const std::string& group) {
  if (group.starts_with("/..")) {
    return {};
  }
  if (mount.root == "/") {
    return group == "/" ? mount.mount_point : mount.mount_point + group;
  }
  if (group != mount.root && !group.starts_with(mount.root + "/")) {
    return {};
  }
  return mount.mount_point + group.substr(mount.root.size());
}

CgroupPlace place_in(const MountFacts& mount, int version, const std::string& group) {
  return {version, mount.mount_point, folder_in(mount, group), has_word(mount.options, "ro")};
}

}  // namespace

std::string_view controller_name(Controller controller, int version) {
  if (controller == Controller::cpu) {
    return "cpu";
  }
  if (controller == Controller::memory) {
    return "memory";
  }
  return version == 1 ? "blkio" : "io";
}

std::vector<std::string> words_in_file(const std::string& path) {
  std::istringstream in(first_line(path));
  std::vector<std::string> words;
  for (std::string word; in >> word;) {
    words.push_back(word);
  }
  return words;
}

CgroupPlace cgroup_place(Controller controller, const CgroupSources& sources) {
  const std::string_view v1 = controller_name(controller, 1);
  for (const MountFacts& mount : mounts(sources.mountinfo)) {
    const bool unified = mount.filesystem == "cgroup2";
    if (unified ? std::ranges::count(words_in_file(mount.mount_point + "/cgroup.controllers"),
                                     controller_name(controller, 2)) == 0
                : mount.filesystem != "cgroup" || !has_word(mount.options, v1)) {
      continue;
    }
    const auto group = membership_of(unified ? "" : v1, sources.membership);
    if (group) {
      return place_in(mount, unified ? 2 : 1, *group);
    }
  }
  return {};
}

std::string cgroup_summary(const CgroupSources& sources) {
  std::string of[3];
  for (const Controller controller : {Controller::memory, Controller::io}) {
    const int version = cgroup_place(controller, sources).version;
    std::string& list = of[version];
    list += (list.empty() ? "" : ",") + std::string(controller_name(controller, version));
  }
  if (!of[1].empty() && !of[2].empty()) {
    return fmt::format("hybrid: v1 {}; v2 {}", of[1], of[2]);
  }
  if (of[1].empty() && of[2].empty()) {
    return "no memory or I/O controller";
  }
  const std::string lack = of[0].empty() ? "" : " (no " + of[0] + ")";
  return (of[1].empty() ? "v2 " + of[2] : "v1 " + of[1]) + lack;
}

}  // namespace blksweep
