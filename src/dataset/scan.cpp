#include "dataset/scan.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/stat.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <span>

#include "base/clock.h"
#include "dataset/pack_index.h"
#include "dataset/placement.h"
#include "dataset/tar.h"
#include "dataset/walk.h"
#include "os/file/file.h"
#include "os/memory/memory_room.h"

namespace blksweep {
namespace {

// What opening a file gave. Kept beside its position in path order until all are read.
struct Opened {
  FileRecord record{};
  std::uint32_t extent_begin = 0, extent_end = 0;  // in Placement::extents()
  std::uint32_t tar = kFile;                       // number in Scanner::tars_; kFile: none
  bool usable = false;
};

constexpr std::size_t kAhead = 4;  // files

class Scanner {
 public:
  Scanner(const ScanSettings& settings, ScanReport& report)
      : settings_(settings), report_(report) {}

  Result<CatalogParts> run(const std::string& root);

 private:
  void open_all();
  bool open_one(std::uint32_t position);
  bool accept(int fd, const TreeEntry& entry, const struct statx& st, Opened& out);
  void take_tar(int fd, const TreeEntry& entry, Opened& out);
  Result<> assemble();
  void add_file(std::uint32_t position);
  void add_samples(std::uint32_t position, std::uint32_t file);
  Result<> check_records() const;
  void add_records(const TreeEntry& entry, std::uint32_t file, std::uint32_t label);
  void add_members(const Opened& opened, std::uint32_t file, std::uint32_t label);
  std::uint32_t label_of(std::string_view path);
  bool is_tar(std::string_view name) const;

  const ScanSettings& settings_;
  ScanReport& report_;
  CatalogParts parts_;
  Tree tree_;
  std::vector<std::uint32_t> order_;  // entries by path
  std::vector<Opened> opened_;        // beside order_
  std::vector<std::vector<TarMember>> tars_;
  std::vector<std::pair<std::string, std::uint32_t>> labels_;  // sorted by name
  Placement placement_;
  std::string scratch_;
};

bool Scanner::is_tar(std::string_view name) const {
  return settings_.tar == TarMode::always ||
         (settings_.tar == TarMode::by_name && settings_.records.n == 0 && name.ends_with(".tar"));
}

// A failure to open or map one file: which kind it is.
void report_errno(ScanReport& report, const std::string& path, int err) {
  const Oddity kind = err == ENOENT || err == ESTALE ? Oddity::vanished : Oddity::unreadable;
  report.add(kind, kind == Oddity::vanished ? path : path + ": " + std::strerror(err));
}

bool Scanner::open_one(std::uint32_t position) {
  const TreeEntry& entry = tree_.entries[order_[position]];
  const Fd fd(tree_.open(entry, scratch_));
  if (!fd) {
    report_errno(report_, tree_.path(entry), errno);
    return false;
  }
  struct statx st {};
  if (::statx(fd.get(), "", AT_EMPTY_PATH, STATX_BASIC_STATS, &st) != 0) {
    report_errno(report_, tree_.path(entry), errno);
    return false;
  }
  return accept(fd.get(), entry, st, opened_[position]);
}

bool Scanner::accept(int fd, const TreeEntry& entry, const struct statx& st, Opened& out) {
  if (!S_ISREG(st.stx_mode)) {
    report_.add(Oddity::not_regular, tree_.path(entry));
    return false;
  }
  if (st.stx_size == 0) {
    report_.add(Oddity::empty_file, tree_.path(entry));
  }
  const bool packed = settings_.records.n > 0 || is_tar(tree_.name(entry));
  if (!packed && st.stx_size > kMaxSampleBytes) {
    report_.add(Oddity::too_large, tree_.path(entry) + ": " + format_bytes({st.stx_size}));
    return false;
  }
  out.record = {st.stx_ino, st.stx_size, to_ns(st.stx_mtime), to_ns(st.stx_ctime), 0, entry.rank};
  out.extent_begin = static_cast<std::uint32_t>(placement_.extents().size());
  if (placement_.elsewhere(st)) {
    report_.add(Oddity::other_device, tree_.path(entry));
  }
  if (const int err = placement_.append_of(fd, 0, st); err != 0) {
    report_errno(report_, tree_.path(entry), err);
    return false;
  }
  out.extent_end = static_cast<std::uint32_t>(placement_.extents().size());
  out.usable = true;
  if (st.stx_size > 0 && is_tar(tree_.name(entry))) {
    take_tar(fd, entry, out);
  }
  return out.usable;
}

void Scanner::take_tar(int fd, const TreeEntry& entry, Opened& out) {
  const std::string path = tree_.path(entry);
  TarLeftOut left_out;
  const auto read = [&](std::uint64_t offset, std::span<std::byte> to) {
    return pread_full(fd, to, offset, path);
  };
  auto members = read_tar(out.record.size, read, &left_out);
  if (!members) {
    report_.add(Oddity::damaged_tar, path + ": " + members.error().message());
    out.usable = false;
    return;
  }
  for (const std::string& link : left_out.links) {
    report_.add(Oddity::not_regular, path + ": " + link);
  }
  if (left_out.goes_on) {
    report_.warnings.push_back(path +
                               ": another archive follows the end of this one, and its members are "
                               "left out: put each into a file of its own");
  }
  std::erase_if(*members, [&](const TarMember& m) {
    if (m.size > kMaxSampleBytes) {
      report_.add(Oddity::too_large, path + ": " + m.path + ": " + format_bytes({m.size}));
    }
    return m.size > kMaxSampleBytes;
  });
  out.tar = static_cast<std::uint32_t>(tars_.size());
  tars_.push_back(*std::move(members));
}

void Scanner::open_all() {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> by_inode(order_.size());
  for (std::uint32_t i = 0; i < order_.size(); ++i) {
    by_inode[i] = {tree_.entries[order_[i]].inode, i};
  }
  std::ranges::sort(by_inode);
  opened_.resize(order_.size());
  placement_.extents().reserve(order_.size() + order_.size() / 8);
  for (std::size_t i = 0; i < by_inode.size(); ++i) {
    // Inode order is random order in our own memory; the system calls leave time to fetch ahead.
    if (i + 2 * kAhead < by_inode.size()) {
      __builtin_prefetch(&tree_.entries[order_[by_inode[i + 2 * kAhead].second]]);
      const std::uint32_t soon = by_inode[i + kAhead].second;
      __builtin_prefetch(tree_.name(tree_.entries[order_[soon]]));
      __builtin_prefetch(&opened_[soon], 1);
    }
    const std::uint32_t position = by_inode[i].second;
    opened_[position].usable = open_one(position);
  }
}

// Labels are numbered by first appearance; a tar's members may name folders in any order.
std::uint32_t Scanner::label_of(std::string_view path) {
  while (path.starts_with("./") || path.starts_with('/')) {
    path.remove_prefix(1);
  }
  const std::size_t slash = path.find('/');
  if (slash == std::string_view::npos || path.find('\0') != std::string_view::npos) {
    return kNoLabel;
  }
  const std::string_view name = path.substr(0, slash);
  if (!labels_.empty() && labels_.back().first == name) {
    return labels_.back().second;
  }
  const auto at = std::ranges::lower_bound(labels_, name, {},
                                           [](const auto& l) { return std::string_view(l.first); });
  if (at != labels_.end() && at->first == name) {
    return at->second;
  }
  return labels_.insert(at, {std::string(name), parts_.add_label(name)})->second;
}

// A file of holes has any size: its records are counted before they take memory.
Result<> Scanner::check_records() const {
  std::uint64_t records = 0;
  for (const Opened& o : opened_) {
    records += o.record.size / settings_.records.n + 1;
  }
  const std::uint64_t room = memory_room().least().value_or(Bytes{~std::uint64_t{0}}).n / 2;
  if (records > room / sizeof(parts_.parts[0])) {
    return fail(fmt::format("{} records of {}: more than fit in memory: give larger --records",
                            format_count(records), format_bytes(settings_.records)));
  }
  return {};
}

void Scanner::add_records(const TreeEntry& entry, std::uint32_t file, std::uint32_t label) {
  const std::uint64_t size = parts_.files[file].size;
  const std::uint64_t record = settings_.records.n;
  for (std::uint64_t at = 0; at < size; at += record) {
    parts_.parts.push_back({at, std::min(record, size - at), file, label});
  }
  if (size % record != 0) {
    report_.add(Oddity::odd_tail,
                fmt::format("{}: last record has {} bytes", tree_.path(entry), size % record));
  }
}

void Scanner::add_members(const Opened& opened, std::uint32_t file, std::uint32_t label) {
  for (const TarMember& m : tars_[opened.tar]) {
    const std::uint32_t own = label_of(m.path);
    parts_.parts.push_back({m.offset, m.size, file, own == kNoLabel ? label : own});
    if (m.size == 0) {
      report_.add(Oddity::empty_file, m.path);
    }
  }
}

void Scanner::add_samples(std::uint32_t position, std::uint32_t file) {
  const TreeEntry& entry = tree_.entries[order_[position]];
  const Opened& opened = opened_[position];
  const std::uint32_t label = label_of(tree_.directories[entry.directory].path);
  if (settings_.records.n > 0) {
    add_records(entry, file, label);
  } else if (opened.tar != kFile) {
    add_members(opened, file, label);
  } else {
    parts_.whole.push_back({file, label});
  }
}

void Scanner::add_file(std::uint32_t position) {
  const TreeEntry& entry = tree_.entries[order_[position]];
  const Opened& opened = opened_[position];
  const auto file = static_cast<std::uint32_t>(parts_.files.size());
  scratch_.assign(tree_.directories[entry.directory].path).append(tree_.name(entry));
  parts_.add_file(opened.record, scratch_);
  for (std::uint32_t e = opened.extent_begin; e < opened.extent_end; ++e) {
    parts_.extents.push_back(placement_.extents()[e]);
    parts_.extents.back().file = file;
  }
  add_samples(position, file);
}

Result<> Scanner::assemble() {
  constexpr std::size_t kMax = std::numeric_limits<std::uint32_t>::max();
  if (settings_.records.n > 0) {
    BLKSWEEP_CHECK(check_records());
  }
  parts_.files.reserve(order_.size());
  parts_.whole.reserve(order_.size());
  parts_.path_end.reserve(order_.size());
  parts_.extents.reserve(placement_.extents().size());
  for (std::uint32_t i = 0; i < order_.size(); ++i) {
    if (opened_[i].usable) {
      add_file(i);
    }
    if (parts_.path_bytes.size() >= kMax - PATH_MAX || parts_.parts.size() >= kMax) {
      return fail("scan " + parts_.root + ": more than one catalog can hold: scan parts of it");
    }
  }
  return {};
}

Result<CatalogParts> Scanner::run(const std::string& root) {
  const std::int64_t begin = now_ns();
  BLKSWEEP_TRY(tree_, walk_tree(root, report_,
                                settings_.follow_links ? Walking::everywhere : Walking::beneath));
  parts_.links_followed = settings_.follow_links;
  order_ = files_by_path(tree_);
  report_.walk_ns = now_ns() - begin;
  if (settings_.after_walk) {
    settings_.after_walk();
  }
  parts_.root = root;
  // Once for all files: what is read from the device later must be there, and have its address.
  if (::syncfs(tree_.root.get()) != 0) {
    return sys_error(errno, "write back dirty data of " + root);
  }
  BLKSWEEP_TRY(placement_, Placement::find(root, tree_.root.get(), parts_, report_));
  open_all();
  report_.extents_ns = now_ns() - begin - report_.walk_ns;
  placement_.report_refusals(report_);
  BLKSWEEP_CHECK(assemble());
  report_.total_ns = now_ns() - begin;
  const std::uint64_t outside = report_.of(Oddity::outside_link).count;
  if (parts_.view().samples() == 0) {
    return fail(fmt::format("scan {}: no samples in this directory: {}", root,
                            outside > 0 ? "its links lead out of it: --follow-links takes them"
                                        : "name the one that holds the files"));
  }
  if (outside > 0) {
    report_.warnings.push_back(
        fmt::format("{} symbolic links lead out of {} and are left out of the data set, the first "
                    "one {}: --follow-links takes what they lead to",
                    format_count(outside), root, report_.of(Oddity::outside_link).named.front()));
  }
  return std::move(parts_);
}

}  // namespace

Result<CatalogParts> scan(const std::string& directory, const ScanSettings& settings,
                          ScanReport& report) {
  std::error_code ec;
  const std::string root = std::filesystem::canonical(directory, ec).string();
  if (ec) {
    return sys_error(ec.value(), "scan " + directory);
  }
  BLKSWEEP_CHECK(refuse_cut_off_pack(root));
  return Scanner(settings, report).run(root);
}

}  // namespace blksweep
