#include "node/memory_room.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "os/blockdev.h"
#include "os/file.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

bool has_word(const std::string& list, std::string_view word) {
  std::istringstream in(list);
  for (std::string one; std::getline(in, one, ',');) {
    if (one == word) {
      return true;
    }
  }
  return false;
}

// This process's group in the hierarchy with the memory controller, as /proc/self/cgroup names it:
// "4:memory:/a/b" (v1) or "0::/a/b" (v2).
std::string own_group(bool v2) {
  std::istringstream in(whole_text("/proc/self/cgroup"));
  for (std::string line; std::getline(in, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) {
      continue;
    }
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (v2 ? controllers.empty() : has_word(controllers, "memory")) {
      return line.substr(second + 1);
    }
  }
  return {};
}

// The smallest limit from the group up to the mount; "max" is no number and no limit.
std::optional<std::uint64_t> smallest_limit(const fs::path& mount, const std::string& group,
                                            const char* file) {
  std::error_code ec;
  fs::path at = mount / fs::path(group).relative_path();
  if (!fs::exists(at, ec)) {  // seen from inside a cgroup namespace
    at = mount;
  }
  std::optional<std::uint64_t> smallest;
  while (true) {
    std::istringstream in(first_line((at / file).string()));
    if (std::uint64_t n = 0; in >> n) {
      smallest = std::min(n, smallest.value_or(n));
    }
    if (at == mount || !at.has_relative_path()) {
      return smallest;
    }
    at = at.parent_path();
  }
}

std::optional<std::uint64_t> cgroup_limit() {
  for (const MountFacts& m : mounts()) {
    if (m.filesystem == "cgroup" && has_word(m.options, "memory")) {
      return smallest_limit(m.mount_point, own_group(false), "memory.limit_in_bytes");
    }
  }
  for (const MountFacts& m : mounts()) {
    if (m.filesystem == "cgroup2") {
      return smallest_limit(m.mount_point, own_group(true), "memory.max");
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Bytes> meminfo(std::string_view text, std::string_view key) {
  std::uint64_t kib = 0;
  const std::size_t line = text.find("\n" + std::string(key) + ":");
  const std::size_t number =
      line == std::string_view::npos ? line : text.find_first_of("0123456789", line);
  if (number == std::string_view::npos ||
      std::from_chars(text.data() + number, text.data() + text.size(), kib).ec != std::errc{}) {
    return std::nullopt;
  }
  return Bytes{kib * 1024};
}

std::optional<MemoryRoom> memory_room() {
  const auto available = meminfo(whole_text("/proc/meminfo"), "MemAvailable");
  const auto limit = cgroup_limit();
  if (!available) {
    return limit ? std::optional(MemoryRoom{{*limit}, true}) : std::nullopt;
  }
  const bool less = limit && *limit < available->n;
  return MemoryRoom{less ? Bytes{*limit} : *available, less};
}

}  // namespace blksweep
