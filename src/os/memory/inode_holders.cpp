#include "os/memory/inode_holders.h"

#include <fcntl.h>
#include <linux/kcmp.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>
#include <unordered_map>

#include "base/fd.h"
#include "os/block/holders.h"
#include "os/file/file.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

constexpr const char* kInotify = "anon_inode:inotify";
constexpr const char* kFanotify = "anon_inode:[fanotify]";
constexpr unsigned kMinorBits = 20;  // of the kernel's own device numbers

std::uint64_t field(std::string_view text, std::string_view key) {
  std::uint64_t n = 0;
  std::size_t at = text.find(key);
  if (at != std::string_view::npos) {
    at = text.find_first_of("0123456789", at + key.size());
  }
  if (at != std::string_view::npos) {
    std::from_chars(text.data() + at, text.data() + text.size(), n);
  }
  return n;
}

std::uint64_t hex_field(std::string_view line, std::string_view key) {
  std::uint64_t n = 0;
  if (const std::size_t at = line.find(key); at != std::string_view::npos) {
    std::from_chars(line.data() + at + key.size(), line.data() + line.size(), n, 16);
  }
  return n;
}

// mount id -> device, as one process sees them.
std::unordered_map<std::uint64_t, dev_t> devices_of_mounts(const fs::path& process) {
  std::unordered_map<std::uint64_t, dev_t> out;
  std::ifstream in(process / "mountinfo");
  for (std::string line; std::getline(in, line);) {
    std::uint64_t id = 0;
    unsigned major = 0, minor = 0;
    if (std::sscanf(line.c_str(), "%" SCNu64 " %*d %u:%u", &id, &major, &minor) == 3) {
      out.emplace(id, makedev(major, minor));
    }
  }
  return out;
}

// 0 where files have other device numbers than their mount.
dev_t device_of(const std::string& root) {
  const Fd fd(::open(root.c_str(), O_PATH | O_CLOEXEC));
  const std::string said = fd ? whole_text("/proc/self/fdinfo/" + std::to_string(fd.get())) : "";
  const auto mounts = devices_of_mounts("/proc/self");
  const auto it = mounts.find(field(said, "mnt_id:"));
  return it == mounts.end() || major(it->second) == 0 ? 0 : it->second;
}

bool same_table(pid_t a, pid_t b) { return ::syscall(SYS_kcmp, a, b, KCMP_FILES, 0, 0) == 0; }

std::vector<pid_t> numbers_in(const fs::path& folder, std::error_code& ec) {
  std::vector<pid_t> out;
  for (auto it = fs::directory_iterator(folder, ec); !ec && it != fs::directory_iterator();
       it.increment(ec)) {
    const std::string name = it->path().filename().string();
    pid_t n = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), n).ec == std::errc{}) {
      out.push_back(n);
    }
  }
  return out;
}

// One thread for each table of descriptors.
std::vector<pid_t> tables_of(const fs::path& process) {
  std::error_code gone;
  std::vector<pid_t> out;
  for (const pid_t thread : numbers_in(process / "task", gone)) {
    if (std::ranges::none_of(out, [&](pid_t known) { return same_table(known, thread); })) {
      out.push_back(thread);
    }
  }
  return out;
}

class Search {
 public:
  Search(const std::string& root, std::vector<ino_t> inodes)
      : root_(root), inodes_(std::move(inodes)), device_(device_of(root)) {
    std::ranges::sort(inodes_);
    inodes_.erase(std::unique(inodes_.begin(), inodes_.end()), inodes_.end());
    held_.resize(inodes_.size());
  }

  InodeHolders run() {
    InodeHolders out;
    out.wanted = inodes_.size();
    for (const Holder& other : other_processes()) {
      const fs::path process = "/proc/" + std::to_string(other.pid);
      if (is_child(process)) {
        continue;
      }
      mounts_.reset();
      refused_ = false;
      std::uint64_t files = mappings(process);
      for (const pid_t thread : tables_of(process)) {
        files += descriptors(process, process / "task" / std::to_string(thread));
      }
      out.unseen += refused_ ? 1 : 0;
      if (files > 0) {
        out.holders.push_back({other.pid, other.command, files});
        out.held += files;
      }
    }
    std::ranges::stable_sort(out.holders, std::ranges::greater{}, &InodeHolder::files);
    return out;
  }

 private:
  // 1 when it is one of the files, and the first to hold it.
  std::uint64_t take(ino_t inode) {
    const auto it = std::ranges::lower_bound(inodes_, inode);
    if (it == inodes_.end() || *it != inode) {
      return 0;
    }
    const auto at = static_cast<std::size_t>(it - inodes_.begin());
    const bool first = !held_[at];
    held_[at] = true;
    return first ? 1 : 0;
  }

  bool on_device(const fs::path& process, std::uint64_t mount) {
    if (!mounts_) {
      mounts_ = devices_of_mounts(process);
    }
    const auto it = mounts_->find(mount);
    return device_ != 0 && it != mounts_->end() && it->second == device_;
  }

  std::uint64_t descriptors(const fs::path& process, const fs::path& task) {
    std::error_code ec;
    const std::vector<pid_t> open = numbers_in(task / "fd", ec);
    refused_ = refused_ || ec == std::errc::permission_denied;
    std::uint64_t files = 0;
    for (const pid_t fd : open) {
      const std::string name = std::to_string(fd);
      const std::string target = fs::read_symlink(task / "fd" / name, ec).string();
      const bool watches = target == kInotify || target == kFanotify;
      if (ec || (!watches && !target.starts_with('/'))) {
        continue;
      }
      const std::string said = whole_text(task / "fdinfo" / name);
      if (watches) {
        files += watched(said);
        continue;
      }
      if (names_below(target, root_) || on_device(process, field(said, "mnt_id:"))) {
        files += take(field(said, "ino:"));
      }
    }
    return files;
  }

  // A watch holds its inode: "inotify wd:1 ino:2af sdev:700002 ...", a line each, in hex.
  std::uint64_t watched(const std::string& said) {
    std::uint64_t files = 0;
    std::istringstream lines(said);
    for (std::string line; std::getline(lines, line);) {
      const std::uint64_t device = hex_field(line, " sdev:");
      const bool here = device_ != 0 && device >> kMinorBits == major(device_) &&
                        (device & ((1U << kMinorBits) - 1)) == minor(device_);
      files += here ? take(hex_field(line, " ino:")) : 0;
    }
    return files;
  }

  std::uint64_t mappings(const fs::path& process) {
    std::uint64_t files = 0;
    std::ifstream in(process / "maps");
    for (std::string line; std::getline(in, line);) {
      std::uint64_t inode = 0;
      unsigned major = 0, minor = 0;
      int path_at = 0;
      const bool parsed = std::sscanf(line.c_str(), "%*s %*s %*s %x:%x %" SCNu64 " %n", &major,
                                      &minor, &inode, &path_at) == 3;
      if (parsed && inode != 0 &&
          (names_below(std::string_view(line).substr(static_cast<std::size_t>(path_at)), root_) ||
           (device_ != 0 && makedev(major, minor) == device_))) {
        files += take(inode);
      }
    }
    return files;
  }

  static bool is_child(const fs::path& process) {
    return field(whole_text(process / "status"), "\nPPid:") ==
           static_cast<std::uint64_t>(::getpid());
  }

  const std::string root_;
  std::vector<ino_t> inodes_;
  dev_t device_;
  std::vector<bool> held_;
  std::optional<std::unordered_map<std::uint64_t, dev_t>> mounts_;  // of the process looked at
  bool refused_ = false;                                            // by that process
};

}  // namespace

InodeHolders inode_holders(const std::string& root, std::vector<ino_t> inodes) {
  std::error_code ec;
  const fs::path real = fs::canonical(root, ec);
  return Search(ec ? root : real.string(), std::move(inodes)).run();
}

}  // namespace blksweep
