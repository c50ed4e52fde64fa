#include "os/process/process_tree.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>

#include "os/block/own_reads.h"
#include "os/file/file.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

struct Stat {
  pid_t pid = 0, parent = 0;
  char state = 0;
  std::int64_t ticks = 0;  // of CPU time, with that of children that were waited for
};

// "PID (COMMAND) STATE PPID ...": the command may hold anything.
std::optional<Stat> stat_of(const std::string& process) {
  const std::string text = first_line(process + "/stat");
  const std::size_t at = text.rfind(')');
  if (at == std::string::npos) {
    return std::nullopt;
  }
  Stat s;
  std::istringstream fields(text.substr(at + 1));
  std::string skipped;
  fields >> s.state >> s.parent;
  for (int field = 5; field < 14; ++field) {
    fields >> skipped;
  }
  for (int field = 14; field <= 17; ++field) {  // utime, stime, cutime, cstime
    std::int64_t ticks = 0;
    fields >> ticks;
    s.ticks += ticks;
  }
  return fields ? std::optional(s) : std::nullopt;
}

std::vector<Stat> all_processes() {
  std::vector<Stat> out;
  std::error_code ec;
  for (auto it = fs::directory_iterator("/proc", ec); !ec && it != fs::directory_iterator();
       it.increment(ec)) {
    const std::string name = it->path().filename().string();
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc{} || end != name.data() + name.size()) {
      continue;
    }
    if (std::optional<Stat> s = stat_of(it->path().string())) {
      s->pid = pid;
      out.push_back(*s);
    }
  }
  return out;
}

using MaybeBytes = std::optional<std::uint64_t>;
MaybeBytes sum_of(MaybeBytes a, MaybeBytes b) {
  return a && b ? MaybeBytes(*a + *b) : std::nullopt;
}

}  // namespace

TreeUse tree_use(std::span<const pid_t> roots) {
  std::unordered_map<pid_t, std::vector<const Stat*>> children;
  const std::vector<Stat> all = all_processes();
  std::vector<const Stat*> todo;
  for (const Stat& s : all) {
    const bool root = std::ranges::find(roots, s.pid) != roots.end();
    (root ? todo : children[s.parent]).push_back(&s);
  }
  const std::int64_t tick_ns = 1'000'000'000 / ::sysconf(_SC_CLK_TCK);
  TreeUse sum;
  while (!todo.empty()) {
    const Stat& s = *todo.back();
    todo.pop_back();
    sum.cpu_ns += s.ticks * tick_ns;
    const std::string io = "/proc/" + std::to_string(s.pid) + "/io";
    sum.read_bytes = sum_of(sum.read_bytes, own_read_bytes(io));
    sum.called_bytes = sum_of(sum.called_bytes, called_read_bytes(io));
    const auto& more = children[s.pid];
    todo.insert(todo.end(), more.begin(), more.end());
  }
  return sum;
}

std::vector<std::string> mapped_files(pid_t pid) {
  std::set<std::string> files;
  std::ifstream in("/proc/" + std::to_string(pid) + "/maps");
  for (std::string line; std::getline(in, line);) {
    const std::size_t at = line.find('/');
    if (at != std::string::npos && !line.ends_with(" (deleted)")) {
      files.insert(line.substr(at));
    }
  }
  return {files.begin(), files.end()};
}

std::vector<ChildProcess> children_of(pid_t pid) {
  std::vector<ChildProcess> out;
  for (const Stat& s : all_processes()) {
    if (s.parent == pid) {
      out.push_back({s.pid, s.state == 'Z'});
    }
  }
  return out;
}

std::vector<ChildProcess> own_children() { return children_of(::getpid()); }

}  // namespace blksweep
