// blksweep cache stat: what of files and folders is in the page cache.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <numeric>
#include <set>
#include <utility>

#include "base/fd.h"
#include "base/log.h"
#include "base/table.h"
#include "base/units.h"
#include "cli/answer.h"
#include "cli/cache/files.h"
#include "os/process/signals.h"

namespace blksweep {
namespace {

constexpr std::size_t kCells = 64;
constexpr std::size_t kFolderCells = 24;
constexpr std::size_t kFoldersShown = 20;

struct TreeStat {
  const FileSet* files = nullptr;
  Residency sum;
  std::vector<Residency> folders;  // beside files->folders()
  std::vector<double> map;         // of a single file
};

// Of all paths: a file below two of them, or with a name in each, counts once.
class Together {
 public:
  void add(const Residency& r, const Fd& fd) {
    struct ::stat st {};
    if (!fd || ::fstat(fd.get(), &st) != 0 || seen_.emplace(st.st_dev, st.st_ino).second) {
      sum_.add(r);
    }
  }
  const Residency& sum() const { return sum_; }

 private:
  Residency sum_;
  std::set<std::pair<dev_t, ino_t>> seen_;
};

TreeStat stat_of(const FileSet& files, Together* together) {
  TreeStat s;
  s.files = &files;
  s.folders.resize(files.is_file() ? 0 : files.folders().size());
  CountLine line("files looked at:", files.size(), false);
  std::string scratch;
  for (std::size_t i = 0; i < files.size() && !stop_requested().load(); ++i) {
    const Fd fd(files.open(i, scratch));
    const Residency r = residency_in(files, i, fd);
    s.sum.add(r);
    if (together != nullptr) {
      together->add(r, fd);
    }
    if (!files.is_file()) {
      s.folders[files.folder(i)].add(r);
    }
    line.at().fetch_add(1, std::memory_order_relaxed);
  }
  if (files.is_file()) {
    const Fd fd(files.open(0, scratch));
    if (auto map = fd ? residency_map(fd.get(), kCells) : fail("gone"); map) {
      s.map = *std::move(map);
    }
  }
  return s;
}

// The sub-folders with the most bytes first.
std::vector<std::size_t> largest_first(const TreeStat& s) {
  std::vector<std::size_t> order(s.folders.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::erase_if(order, [&s](std::size_t f) { return s.folders[f].files == 0; });
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&s](std::size_t f) { return s.folders[f].bytes; });
  return order;
}

std::string pages_text(const std::optional<std::uint64_t>& pages) {
  return pages ? format_bytes({pages_to_bytes(*pages)}) : "-";
}

void add_row(Table& table, const std::string& name, const Residency& r) {
  table.row({name, format_count(r.files), format_bytes({r.bytes}), format_bytes({r.resident_bytes}),
             percent_text(r), pages_text(r.dirty_pages), pages_text(r.writeback_pages),
             pages_text(r.evicted_pages), pages_text(r.recently_evicted_pages)});
}

std::vector<double> filled(double share) {
  std::vector<double> cells(kFolderCells);
  for (std::size_t i = 0; i < kFolderCells; ++i) {
    cells[i] = std::clamp(share * kFolderCells - static_cast<double>(i), 0.0, 1.0);
  }
  return cells;
}

void print_folders(const TreeStat& s) {
  const std::vector<std::size_t> order = largest_first(s);
  const std::vector<std::string> names = s.files->folders();
  if (order.size() < 2) {
    return;
  }
  Table table;
  table.column("in " + s.files->root(), Table::Align::left);
  table.column("bytes");
  table.column("resident");
  table.column("", Table::Align::left);
  for (std::size_t i = 0; i < std::min(order.size(), kFoldersShown); ++i) {
    const Residency& r = s.folders[order[i]];
    table.row({names[order[i]], format_bytes({r.bytes}), percent_text(r),
               residency_bar(filled(r.share().value_or(0)), utf8_terminal())});
  }
  say_text("\n" + table.text());
  if (order.size() > kFoldersShown) {
    say("and {} more\n", order.size() - kFoldersShown);
  }
}

void print_text(const std::vector<TreeStat>& trees, const Residency& total) {
  Table table;
  table.column("path", Table::Align::left);
  for (const char* title :
       {"files", "bytes", "resident", "share", "dirty", "writeback", "evicted", "recently"}) {
    table.column(title);
  }
  for (const TreeStat& s : trees) {
    add_row(table, s.files->root(), s.sum);
  }
  if (trees.size() > 1) {
    add_row(table, "together", total);
  }
  say_text(table.text());
  for (const TreeStat& s : trees) {
    if (!s.map.empty()) {
      say("\n{}\n[{}]\n", s.files->root(), residency_bar(s.map, utf8_terminal()));
    }
    print_folders(s);
  }
}

Json tree_json(const TreeStat& s) {
  Json j{{"path", s.files->root()}, {"filesystem", s.files->filesystem()}};
  j.update(residency_json(s.sum));
  j["other_names"] = s.files->more_names();
  j["links_not_followed"] = s.files->links_left();
  j["filesystems_not_entered"] = s.files->filesystems_left();
  j["unlisted"] = s.files->unlisted();
  j["map"] = s.files->is_file() ? Json(s.map) : Json(nullptr);
  j["folders"] = Json::array();
  const std::vector<std::string> names =
      s.files->is_file() ? std::vector<std::string>{} : s.files->folders();
  for (const std::size_t f : largest_first(s)) {
    Json folder{{"path", names[f]}};
    folder.update(residency_json(s.folders[f]));
    j["folders"].push_back(std::move(folder));
  }
  return j;
}

}  // namespace

Result<Exit> cache_stat(const CacheFilesOptions& options) {
  BLKSWEEP_TRY(const std::vector<FileSet> sets, file_sets(options.paths));
  std::vector<TreeStat> trees;
  Together together;
  std::vector<std::string> warnings;
  bool whole = true;
  for (const FileSet& files : sets) {
    trees.push_back(stat_of(files, sets.size() > 1 ? &together : nullptr));
    std::ranges::copy(warnings_of(files), std::back_inserter(warnings));
    whole = whole && files.unlisted() == 0;
  }
  if (stop_requested().load()) {
    return fail("cache stat: interrupted", Exit::interrupted);
  }
  const Residency& total = sets.size() > 1 ? together.sum() : trees.front().sum;
  if (total.unreadable > 0) {
    warnings.push_back(unreadable_text(total));
  }
  for (const std::string& warning : warnings) {
    warn(warning);
  }
  if (options.json) {
    Json j = residency_json(total);
    j["trees"] = Json::array();
    for (const TreeStat& s : trees) {
      j["trees"].push_back(tree_json(s));
    }
    j["warnings"] = warnings;
    say_json(j);
  } else {
    print_text(trees, total);
  }
  return whole && total.unreadable == 0 ? Exit::done : Exit::incomplete;
}

}  // namespace blksweep
