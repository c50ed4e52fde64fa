#include "os/memory/page_holders.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>

#include "base/fd.h"
#include "os/block/holders.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

struct Mapping {
  std::uint64_t begin = 0, end = 0, inode = 0;
  unsigned major = 0, minor = 0;
  std::string_view path;
};

// "7f..-7f.. r--s 00000000 07:00 12    /mnt/f"; nullopt for the other lines of smaps.
std::optional<Mapping> parse_mapping(const std::string& line) {
  Mapping m;
  int path_at = 0;
  if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %*4s %*x %x:%x %" SCNu64 " %n", &m.begin,
                  &m.end, &m.major, &m.minor, &m.inode, &path_at) != 5) {
    return std::nullopt;
  }
  m.path = std::string_view(line).substr(static_cast<std::size_t>(path_at));
  return m;
}

std::optional<std::size_t> wanted_file(const Mapping& m, const HeldFiles& wanted) {
  const auto it = m.inode == 0 ? wanted.files.end() : wanted.files.find(m.inode);
  if (it == wanted.files.end()) {
    return std::nullopt;
  }
  const bool same = makedev(m.major, m.minor) == wanted.device || names_below(m.path, wanted.root);
  return same ? std::optional(it->second) : std::nullopt;
}

std::optional<std::uint64_t> number_in(std::string_view text) {
  const std::size_t at = text.find_first_of("0123456789");
  std::uint64_t n = 0;
  if (at == std::string_view::npos ||
      std::from_chars(text.data() + at, text.data() + text.size(), n).ec != std::errc{}) {
    return std::nullopt;
  }
  return n;
}

fs::path process_folder(pid_t pid) { return "/proc/" + std::to_string(pid); }

// maps is cheap; smaps walks the page tables, so only where maps has a wanted file.
bool maps_any(const fs::path& process, const HeldFiles& wanted, bool& seen) {
  std::ifstream in(process / "maps");
  seen = in.is_open();
  for (std::string line; std::getline(in, line);) {
    const auto m = parse_mapping(line);
    if (m && wanted_file(*m, wanted)) {
      return true;
    }
  }
  return false;
}

void add_mappings(const fs::path& process, const HeldFiles& wanted, const PageHold& who,
                  std::vector<PageHold>& out) {
  std::ifstream in(process / "smaps");
  bool inside = false;  // of a mapping of a wanted file
  for (std::string line; std::getline(in, line);) {
    if (const auto m = parse_mapping(line); m) {
      const auto file = wanted_file(*m, wanted);
      inside = file.has_value();
      if (inside) {
        out.push_back(who);
        out.back().file = *file;
        out.back().begin = m->begin;
        out.back().end = m->end;
      }
    } else if (inside && line.starts_with("Rss:")) {
      out.back().bytes = number_in(line).value_or(0) * 1024;
    } else if (inside && line.starts_with("VmFlags:") && line.find(" lo") != std::string::npos) {
      out.back().kind = HoldKind::locked;
    }
  }
}

// The inode stands in fdinfo since Linux 5.14; before that nothing is said to be open.
std::optional<std::size_t> open_file(const fs::path& process, const fs::path& name,
                                     const HeldFiles& wanted) {
  std::error_code ec;
  const std::string target = fs::read_symlink(process / "fd" / name, ec).string();
  if (ec || !names_below(target, wanted.root)) {
    return std::nullopt;
  }
  std::ifstream in(process / "fdinfo" / name);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("ino:")) {
      const auto it = wanted.files.find(number_in(line).value_or(0));
      return it == wanted.files.end() ? std::nullopt : std::optional(it->second);
    }
  }
  return std::nullopt;
}

void add_open(const fs::path& process, const HeldFiles& wanted, const PageHold& who,
              std::vector<PageHold>& out) {
  std::error_code ec;
  for (auto it = fs::directory_iterator(process / "fd", ec); !ec && it != fs::directory_iterator();
       it.increment(ec)) {
    if (const auto file = open_file(process, it->path().filename(), wanted); file) {
      out.push_back(who);
      out.back().kind = HoldKind::open;
      out.back().file = *file;
    }
  }
}

}  // namespace

PageHolds page_holds(const HeldFiles& wanted) {
  PageHolds found;
  for (const Holder& other : other_processes()) {
    const fs::path process = process_folder(other.pid);
    const PageHold who{.pid = other.pid, .command = other.command};
    bool seen = false;
    if (maps_any(process, wanted, seen)) {
      add_mappings(process, wanted, who, found.holds);
    }
    found.unseen += seen ? 0U : 1U;
    add_open(process, wanted, who, found.holds);
  }
  return found;
}

std::vector<FileMapper> largest_mappers(std::size_t count) {
  std::vector<FileMapper> all;
  for (const Holder& who : other_processes()) {
    FileMapper m{.pid = who.pid, .command = who.command};
    std::ifstream in(process_folder(who.pid) / "status");
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with("RssFile:")) {
        m.file_bytes = number_in(line).value_or(0) * 1024;
      } else if (line.starts_with("VmLck:")) {
        m.locked_bytes = number_in(line).value_or(0) * 1024;
      }
    }
    if (m.file_bytes > 0) {
      all.push_back(std::move(m));
    }
  }
  std::ranges::sort(all, std::ranges::greater{}, &FileMapper::file_bytes);
  all.resize(std::min(all.size(), count));
  return all;
}

Result<> page_out(const PageHold& hold) {
  // By number: glibc 2.36 declares pidfd_open without extern "C".
  const Fd process(static_cast<int>(::syscall(SYS_pidfd_open, hold.pid, 0)));
  if (!process) {
    return sys_error(errno, fmt::format("pidfd_open {}", hold.pid));
  }
  const iovec part{std::bit_cast<void*>(hold.begin), hold.end - hold.begin};
  if (::process_madvise(process.get(), &part, 1, MADV_PAGEOUT, 0) < 0) {
    return sys_error(errno, fmt::format("process_madvise of {} ({})", hold.command, hold.pid));
  }
  return {};
}

}  // namespace blksweep
