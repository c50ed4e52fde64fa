// blksweep cache warm: data or inodes into the cache, as fast as the device gives them.
#include "node/cache/warm.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/log.h"
#include "base/units.h"
#include "cli/answer.h"
#include "cli/cache/files.h"
#include "os/memory/memory_room.h"
#include "os/process/signals.h"

namespace blksweep {
namespace {

struct Warmed {
  const FileSet* files = nullptr;
  Residency before, after;
  WarmOutcome outcome;
  std::int64_t placing_ns = 0;  // walking is not in it
  std::vector<std::string> warnings;
  bool full = true;
};

Residency measure(const FileSet& files) {
  Residency sum;
  std::string scratch;
  for (std::size_t i = 0; i < files.size() && !stop_requested().load(); ++i) {
    const Fd fd(files.open(i, scratch));
    sum.add(residency_in(files, i, fd));
  }
  return sum;
}

std::string room_text(const MemoryRoom& room) {
  return fmt::format("{} {}", format_bytes(*room.least()),
                     room.of_cgroup() ? "is the memory limit of this process's cgroup"
                                      : "of memory are available");
}

// Said before the minutes of reading, not after them.
void warn_of_memory(Warmed& w) {
  const std::uint64_t missing = w.before.bytes - std::min(w.before.bytes, w.before.resident_bytes);
  const MemoryRoom room = memory_room();
  if (room.least() && missing > room.least()->n) {
    w.warnings.push_back(
        fmt::format("{}: {} are to be read, but {}: the first of it will be evicted "
                    "again",
                    w.files->root(), format_bytes({missing}), room_text(room)));
    warn(w.warnings.back());
  }
}

// Reclaim leaves a mark where a page was, a drop of caches does not.
std::string loss_text(const Warmed& w) {
  const MemoryRoom room = memory_room();
  if (room.least() && w.outcome.bytes > room.least()->n) {
    return "memory is too small: " + room_text(room);
  }
  if (const std::uint64_t evicted = w.after.evicted_pages.value_or(0); evicted > 0) {
    return fmt::format("{} were evicted again to free memory",
                       format_bytes({pages_to_bytes(evicted)}));
  }
  return "something dropped the rest meanwhile";
}

void judge(Warmed& w) {
  if (w.outcome.failed > 0) {
    w.warnings.push_back(fmt::format("{}: {} reads failed: {}", w.files->root(), w.outcome.failed,
                                     w.outcome.first_error));
    warn(w.warnings.back());
  }
  if (w.after.unreadable > 0) {
    w.warnings.push_back(fmt::format("{}: {}", w.files->root(), unreadable_text(w.after)));
    warn(w.warnings.back());
  }
  const bool resident = w.after.resident_bytes >= w.outcome.bytes;
  if (!resident && w.outcome.failed == 0 && w.after.unreadable == 0) {
    w.warnings.push_back(fmt::format("{}: {} of {} are resident after reading all: {}",
                                     w.files->root(), format_bytes({w.after.resident_bytes}),
                                     format_bytes({w.outcome.bytes}), loss_text(w)));
    warn(w.warnings.back());
  }
  w.full = resident && w.outcome.failed == 0 && w.after.unreadable == 0;
}

Warmed warm_data(const FileSet& files) {
  Warmed w;
  w.files = &files;
  w.before = measure(files);
  warn_of_memory(w);
  const std::int64_t begin = now_ns();
  WarmJob job;
  {
    CountLine line("files placed:", files.size(), false);
    job = warm_job(files, stop_requested(), line.at());
  }
  w.placing_ns = now_ns() - begin;
  {
    CountLine line("warmed:", w.before.bytes, true);
    w.outcome = warm_pieces(job, stop_requested(), line.at());
  }
  w.after = measure(files);
  if (!w.outcome.interrupted) {
    judge(w);
  }
  return w;
}

Warmed warm_inodes(const FileSet& files) {
  Warmed w;
  w.files = &files;
  CountLine line("inodes:", files.size(), false);
  w.outcome = look_up(files, stop_requested(), line.at());
  if (w.outcome.failed > 0) {
    w.full = false;
    w.warnings.push_back(fmt::format("{}: {} files failed: {}", files.root(), w.outcome.failed,
                                     w.outcome.first_error));
    warn(w.warnings.back());
  }
  return w;
}

double seconds(std::int64_t ns) { return static_cast<double>(ns) / 1e9; }

// Of what was not there before; nullopt when nothing was read.
std::optional<double> rate(const Warmed& w) {
  const std::uint64_t read = w.outcome.bytes - std::min(w.outcome.bytes, w.before.resident_bytes);
  return read > 0 && w.outcome.ns > 0
             ? std::optional(static_cast<double>(read) / seconds(w.outcome.ns))
             : std::nullopt;
}

Json warmed_json(const Warmed& w, bool inodes) {
  Json j{{"path", w.files->root()},    {"filesystem", w.files->filesystem()},
         {"files", w.files->size()},   {"folders", w.files->directories()},
         {"failed", w.outcome.failed}, {"seconds", seconds(w.outcome.ns)}};
  if (!inodes) {
    const auto bytes_per_s = rate(w);
    j["bytes"] = w.outcome.bytes;
    j["placing_seconds"] = seconds(w.placing_ns);
    j["bytes_per_s"] = or_null(bytes_per_s);
    j["before"] = residency_json(w.before);
    j["after"] = residency_json(w.after);
  }
  j["warnings"] = w.warnings;
  return j;
}

void print_text(const Warmed& w, bool inodes) {
  const std::string root = w.files->root();
  if (inodes) {
    say("{}: {} inodes and {} folders looked up in {:.2f} s, {} inodes/s\n", root,
        format_count(w.files->size() - w.outcome.failed), format_count(w.files->directories()),
        seconds(w.outcome.ns),
        format_count(static_cast<std::uint64_t>(static_cast<double>(w.files->size()) /
                                                std::max(seconds(w.outcome.ns), 1e-9))));
    return;
  }
  const auto bytes_per_s = rate(w);
  say("{}: {} files, {} of data\n", root, format_count(w.files->size()),
      format_bytes({w.outcome.bytes}));
  say("  resident before  {:>10}  {:>9}\n", format_bytes({w.before.resident_bytes}),
      percent_text(w.before));
  say("  resident after   {:>10}  {:>9}\n", format_bytes({w.after.resident_bytes}),
      percent_text(w.after));
  say("  reading took     {:>8.2f} s{}\n", seconds(w.outcome.ns),
      bytes_per_s
          ? fmt::format("  {:>9}/s", format_bytes({static_cast<std::uint64_t>(*bytes_per_s)}))
          : "");
  say("  addresses took   {:>8.2f} s\n", seconds(w.placing_ns));
}

}  // namespace

Result<Exit> cache_warm(const CacheFilesOptions& options) {
  BLKSWEEP_TRY(const std::vector<FileSet> sets, file_sets(options.paths));
  Json trees = Json::array();
  bool full = true;
  for (const FileSet& files : sets) {
    for (const std::string& warning : warnings_of(files)) {
      warn(warning);
    }
    const Warmed w = options.inodes ? warm_inodes(files) : warm_data(files);
    if (w.outcome.interrupted) {
      return fail("cache warm " + files.root() + ": interrupted", Exit::interrupted);
    }
    full = full && w.full && files.unlisted() == 0;
    if (options.json) {
      trees.push_back(warmed_json(w, options.inodes));
    } else {
      print_text(w, options.inodes);
    }
  }
  if (options.json) {
    say_json({{"what", options.inodes ? "inodes" : "pages"}, {"trees", trees}});
  }
  return full ? Exit::done : Exit::incomplete;
}

}  // namespace blksweep
