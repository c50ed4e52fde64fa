#include "os/block/holders.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>

#include "os/block/blockdev.h"
#include "os/file/file.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kNamed = 8;  // of the holders in an error

bool is_below(const std::string& path, const std::vector<std::string>& tops) {
  return std::ranges::any_of(tops,
                             [&path](const std::string& top) { return names_below(path, top); });
}

bool link_is_below(const fs::path& link, const std::vector<std::string>& tops) {
  std::error_code ec;
  const fs::path target = fs::read_symlink(link, ec);
  return !ec && is_below(target.string(), tops);
}

bool maps_below(const fs::path& process, const std::vector<std::string>& tops) {
  std::ifstream in(process / "maps");
  for (std::string line; std::getline(in, line);) {
    const std::size_t at = line.find('/');
    if (at != std::string::npos && is_below(line.substr(at), tops)) {
      return true;
    }
  }
  return false;
}

bool holds(const fs::path& process, const std::vector<std::string>& tops) {
  for (const char* link : {"cwd", "root", "exe"}) {
    if (link_is_below(process / link, tops)) {
      return true;
    }
  }
  std::error_code ec;
  for (auto it = fs::directory_iterator(process / "fd", ec); !ec && it != fs::directory_iterator();
       it.increment(ec)) {
    if (link_is_below(it->path(), tops)) {
      return true;
    }
  }
  return maps_below(process, tops);
}

std::optional<pid_t> pid_of(const fs::path& process) {
  const std::string name = process.filename().string();
  pid_t pid = 0;
  const auto [rest, ec] = std::from_chars(name.data(), name.data() + name.size(), pid);
  const bool whole = ec == std::errc{} && rest == name.data() + name.size();
  return whole ? std::optional(pid) : std::nullopt;
}

}  // namespace

bool names_below(std::string_view path, const std::string& top) {
  return path.starts_with(top) && (path.size() == top.size() || path[top.size()] == '/' ||
                                   path[top.size()] == ' ' || top == "/");
}

Result<std::vector<MountFacts>> mounts_of(const BlockDevice& device) {
  BLKSWEEP_TRY(std::vector<MountFacts> out, read_mounts());
  std::erase_if(out, [&](const MountFacts& m) { return !is_mount_of(m, device.dev, device.node); });
  std::ranges::reverse(out);
  return out;
}

Result<bool> is_mount_point(const std::string& folder) {
  BLKSWEEP_TRY(const std::vector<MountFacts> all, read_mounts());
  return std::ranges::any_of(all, [&](const MountFacts& m) { return m.mount_point == folder; });
}

std::vector<Holder> other_processes() {
  std::vector<Holder> out;
  std::error_code ec;
  for (auto it = fs::directory_iterator("/proc", ec); !ec && it != fs::directory_iterator();
       it.increment(ec)) {
    const auto pid = pid_of(it->path());
    if (pid && *pid != ::getpid()) {
      out.push_back({*pid, first_line(it->path() / "comm")});
    }
  }
  return out;
}

std::vector<Holder> holders_of(const std::vector<std::string>& paths) {
  std::vector<Holder> out = other_processes();
  std::erase_if(out, [&paths](const Holder& h) {
    return !holds(fs::path("/proc") / std::to_string(h.pid), paths);
  });
  return out;
}

std::vector<Holder> mounting_processes(const BlockDevice& device) {
  std::vector<Holder> out = other_processes();
  std::erase_if(out, [&device](const Holder& h) {
    const auto all = mounts(fmt::format("/proc/{}/mountinfo", h.pid));
    return std::ranges::none_of(
        all, [&](const MountFacts& m) { return is_mount_of(m, device.dev, device.node); });
  });
  return out;
}

std::string to_text(const std::vector<Holder>& holders) {
  std::string out;
  for (std::size_t i = 0; i < std::min(holders.size(), kNamed); ++i) {
    out += fmt::format("{}{} ({})", out.empty() ? "" : ", ", holders[i].command, holders[i].pid);
  }
  return out +
         (holders.size() > kNamed ? fmt::format(" and {} more", holders.size() - kNamed) : "");
}

}  // namespace blksweep
