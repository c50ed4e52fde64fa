#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

#include "base/clock.h"
#include "base/units.h"
#include "cli/answer.h"
#include "cli/cache/files.h"
#include "cli/scripts.h"
#include "cli/status_line.h"

namespace blksweep {
namespace {

Json bytes_or_null(const Residency& r, const std::optional<std::uint64_t>& pages) {
  if (r.files == 0) {
    return 0;  // of nothing, nothing: that is known
  }
  return pages ? Json(pages_to_bytes(*pages)) : Json(nullptr);
}

}  // namespace

Result<std::vector<FileSet>> file_sets(const std::vector<std::string>& paths) {
  std::vector<FileSet> sets;
  for (const std::string& path : paths) {
    BLKSWEEP_TRY(FileSet set, FileSet::of(path));
    sets.push_back(std::move(set));
  }
  return sets;
}

std::vector<std::string> warnings_of(const FileSet& files) {
  std::vector<std::string> out;
  if (const std::string caveat = cache_caveat(files.filesystem()); !caveat.empty()) {
    out.push_back(fmt::format("{}: {}", files.root(), caveat));
  }
  if (files.unlisted() > 0) {
    out.push_back(fmt::format("{}: {} entries could not be listed and are left out: {}",
                              files.root(), files.unlisted(), files.first_unlisted()));
  }
  if (files.filesystems_left() > 0) {
    out.push_back(fmt::format("{}: {} folders are on other filesystems and are left out: name them",
                              files.root(), files.filesystems_left()));
  }
  return out;
}

std::string unreadable_text(const Residency& r) {
  return r.unreadable == 0
             ? std::string()
             : fmt::format("{} of {} files cannot be examined and are left out of the figures: {}",
                           format_count(r.unreadable), format_count(r.files), r.first_error);
}

Json residency_json(const Residency& r) {
  const bool known = r.files == 0 || r.files > r.unreadable;
  const auto share = r.share();
  return {{"files", r.files},
          {"unreadable_files", r.unreadable},
          {"bytes", known ? Json(r.bytes) : Json(nullptr)},
          {"resident_bytes", known ? Json(r.resident_bytes) : Json(nullptr)},
          {"resident_share", or_null(share)},
          {"dirty_bytes", bytes_or_null(r, r.dirty_pages)},
          {"writeback_bytes", bytes_or_null(r, r.writeback_pages)},
          {"evicted_bytes", bytes_or_null(r, r.evicted_pages)},
          {"recently_evicted_bytes", bytes_or_null(r, r.recently_evicted_pages)}};
}

std::string percent_text(const Residency& r) {
  const auto share = r.share();
  return share ? fmt::format("{:.2f} %", *share * 100) : "-";
}

std::uint64_t pages_to_bytes(std::uint64_t pages) {
  static const auto size = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return pages * size;
}

bool utf8_terminal() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    if (const std::string value = environment(name); !value.empty()) {
      return value.find("UTF-8") != std::string::npos || value.find("utf8") != std::string::npos;
    }
  }
  return false;
}

std::string residency_bar(const std::vector<double>& shares, bool utf8) {
  constexpr std::array<const char*, 9> kBlocks{"·", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::array<const char*, 9> kAscii{".", "1", "2", "3", "4", "5", "6", "7", "#"};
  constexpr double kEighths = 8;
  std::string bar;
  for (const double share : shares) {
    // Only nothing is drawn as nothing, only all as all.
    auto level = static_cast<std::size_t>(share * kEighths);
    level = share > 0 ? std::max<std::size_t>(level, 1) : 0;
    level = std::min(level, share < 1 ? kBlocks.size() - 2 : kBlocks.size() - 1);
    bar += utf8 ? kBlocks[level] : kAscii[level];
  }
  return bar;
}

CountLine::CountLine(const char* what, std::uint64_t total, bool in_bytes)
    : what_(what), total_(total), in_bytes_(in_bytes), thread_([this](const std::stop_token& done) {
        const std::int64_t begin = now_ns();
        repeat_line(done, [&] { return text(static_cast<double>(now_ns() - begin) / 1e9); });
      }) {}

CountLine::~CountLine() {
  thread_.request_stop();
  thread_.join();
}

std::string CountLine::text(double seconds) const {
  const std::uint64_t at = at_.load(std::memory_order_relaxed);
  const auto rate = static_cast<std::uint64_t>(static_cast<double>(at) / std::max(seconds, 1e-3));
  const double left = at > 0 && total_ > at
                          ? seconds * static_cast<double>(total_ - at) / static_cast<double>(at)
                          : 0;
  const auto amount = [this](std::uint64_t n) {
    return in_bytes_ ? format_bytes({n}) : format_count(n);
  };
  return fmt::format("{} {} of {}, {}/s, about {:.0f} s left", what_, amount(at), amount(total_),
                     amount(rate), left);
}

}  // namespace blksweep
