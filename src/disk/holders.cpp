#include "disk/holders.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

namespace blksweep {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kNamed = 8;  // of the holders in an error

struct MountLine {
  std::string point, source;
};

// mountinfo writes blanks and the like as three octal digits: "\040".
std::string plain(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    int code = 0;
    const char* digits = text.data() + i + 1;
    if (text[i] == '\\' && i + 3 < text.size() + 0 &&
        std::from_chars(digits, digits + 3, code, 8).ptr == digits + 3) {
      out += static_cast<char>(code);
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::vector<MountLine> mounts() {
  std::ifstream in("/proc/self/mountinfo");
  std::vector<MountLine> out;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string skipped;
    MountLine m;
    words >> skipped >> skipped >> skipped >> skipped >> m.point;
    while (words >> skipped && skipped != "-") {
    }
    words >> skipped >> m.source;
    out.push_back({plain(m.point), plain(m.source)});
  }
  return out;
}

bool is_below(const std::string& path, const std::vector<std::string>& tops) {
  return std::ranges::any_of(tops, [&path](const std::string& top) {
    return path.starts_with(top) &&
           (path.size() == top.size() || path[top.size()] == '/' || path[top.size()] == ' ');
  });
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

std::vector<std::string> mount_points_of(const std::string& node) {
  std::vector<std::string> out;
  for (const MountLine& m : mounts()) {
    if (m.source == node) {
      out.insert(out.begin(), m.point);
    }
  }
  return out;
}

bool is_mount_point(const std::string& folder) {
  return std::ranges::any_of(mounts(), [&](const MountLine& m) { return m.point == folder; });
}

std::vector<Holder> holders_of(const std::vector<std::string>& paths) {
  std::vector<Holder> out;
  std::error_code ec;
  for (auto it = fs::directory_iterator("/proc", ec); !ec && it != fs::directory_iterator();
       it.increment(ec)) {
    const auto pid = pid_of(it->path());
    if (pid && *pid != ::getpid() && holds(it->path(), paths)) {
      Holder h{*pid, {}};
      std::ifstream comm(it->path() / "comm");
      std::getline(comm, h.command);
      out.push_back(std::move(h));
    }
  }
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
