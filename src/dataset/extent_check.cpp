#include "dataset/extent_check.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/fd.h"
#include "dataset/data_files.h"
#include "dataset/placement.h"
#include "os/file/write_watch.h"

namespace blksweep {
namespace {

constexpr std::size_t kNamed = 3;

bool continues(const ExtentRecord& a, const ExtentRecord& b) {
  const bool linear = a.has_address() && (a.flags & kExtentEncoded) == 0;
  return linear && a.kind() == b.kind() && a.file_end() == b.file_offset &&
         a.device_offset + a.length == b.device_offset;
}

void join(std::span<const ExtentRecord> extents, std::vector<ExtentRecord>& out) {
  out.clear();
  for (const ExtentRecord& e : extents) {
    if (!out.empty() && continues(out.back(), e)) {
      out.back().length += e.length;
    } else {
      out.push_back(e);
    }
  }
}

bool same_place(const ExtentRecord& a, const ExtentRecord& b) {
  return a.file_offset == b.file_offset && a.device_offset == b.device_offset &&
         a.length == b.length && a.kind() == b.kind();
}

bool addressed(const std::vector<ExtentRecord>& extents) {
  return std::ranges::any_of(extents, &ExtentRecord::has_address);
}

std::string address(std::span<const ExtentRecord> extents, std::size_t i) {
  if (i >= extents.size()) {
    return "nothing";
  }
  const ExtentRecord& e = extents[i];
  return e.has_address()
             ? fmt::format("{} bytes at byte {} of the device", e.length, e.device_offset)
             : fmt::format("{} bytes without an address", e.length);
}

class ExtentChecker {
 public:
  ExtentChecker(const Catalog& catalog, const DataFiles& data, AskWriters writers)
      : catalog_(catalog), data_(data), writers_(writers) {}

  Result<> find_placement() {
    BLKSWEEP_TRY(placement_,
                 Placement::find(std::string(catalog_.root), data_.root(), facts_, report_));
    return {};
  }

  // An error is of this process: it says nothing of the file.
  Result<> look(std::uint32_t file, ExtentCheck& check) {
    const int opened = data_.open(file, 0, path_);
    const Fd fd(std::max(opened, -1));
    if (opened == -EMFILE || opened == -ENFILE) {
      return fail(
          fmt::format("RLIMIT_NOFILE: no descriptor is left to compare {} with the catalog: raise "
                      "it (ulimit -n)",
                      path_));
    }
    struct statx st {};
    std::string what;
    if (!fd) {
      what = why_not_opened(-opened);
    } else if (::statx(fd.get(), "", AT_EMPTY_PATH, STATX_BASIC_STATS, &st) != 0) {
      what = std::strerror(errno);
    } else {
      what = difference(catalog_.files[file], st);
    }
    if (!what.empty()) {
      check.changed.push_back({file, fmt::format("{}: {}", path_, what)});
      return {};
    }
    if (what = displacement(fd.get(), file, st); !what.empty()) {
      check.moved.push_back({file, fmt::format("{}: {}", path_, what)});
      check.unplaced += addressed(then_) && !addressed(now_) ? 1 : 0;
    }
    if (writers_ == AskWriters::yes) {
      const std::optional<bool> held = held_for_writing(fd.get());
      check.unasked += held ? 0 : 1;
      if (held.value_or(false)) {
        check.held.push_back(file);
      }
    }
    return {};
  }

 private:
  // How the file lies elsewhere; empty when it does not.
  std::string displacement(int fd, std::uint32_t file, const struct statx& st) {
    placement_.extents().clear();
    if (const int err = placement_.append_of(fd, file, st); err != 0) {
      return std::strerror(err);
    }
    join(catalog_.extents_of(file), then_);
    join(placement_.extents(), now_);
    const std::size_t most = std::max(then_.size(), now_.size());
    for (std::size_t i = 0; i < most; ++i) {
      if (i >= then_.size() || i >= now_.size() || !same_place(then_[i], now_[i])) {
        return fmt::format("{} -> {}", address(then_, i), address(now_, i));
      }
    }
    return {};
  }

  const Catalog& catalog_;
  const DataFiles& data_;
  AskWriters writers_;
  CatalogParts facts_;
  ScanReport report_;
  Placement placement_;
  std::string path_;
  std::vector<ExtentRecord> then_, now_;
};

}  // namespace

Result<ExtentCheck> check_extents(const Catalog& catalog, AskWriters writers) {
  return check_extents(catalog, writers, files_by_inode(catalog));
}

Result<ExtentCheck> check_extents(const Catalog& catalog, AskWriters writers,
                                  std::span<const std::uint32_t> files) {
  BLKSWEEP_TRY(const DataFiles data, DataFiles::open_root(catalog));
  ExtentCheck check;
  check.files = files.size();
  ExtentChecker checker(catalog, data, writers);
  BLKSWEEP_CHECK(checker.find_placement());
  for (const std::uint32_t file : files) {
    BLKSWEEP_CHECK(checker.look(file, check));
  }
  std::ranges::sort(check.changed, {}, &ChangedFile::file);
  std::ranges::sort(check.moved, {}, &ChangedFile::file);
  std::ranges::sort(check.held);
  return check;
}

Result<> write_back(const Catalog& catalog) {
  BLKSWEEP_TRY(const DataFiles data, DataFiles::open_root(catalog));
  if (::syncfs(data.root()) != 0) {
    return sys_error(errno, "write back dirty data of " + std::string(catalog.root));
  }
  return {};
}

std::string name_first(const std::vector<ChangedFile>& files) {
  std::string text;
  for (std::size_t i = 0; i < std::min(kNamed, files.size()); ++i) {
    text += (i == 0 ? "" : "; ") + files[i].text;
  }
  return text + (files.size() > kNamed ? "; ..." : "");
}

}  // namespace blksweep
