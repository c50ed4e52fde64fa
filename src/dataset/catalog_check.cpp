#include "dataset/catalog_check.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/stat.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>
#include <numeric>

#include "base/fd.h"
#include "dataset/data_files.h"
#include "os/file/file.h"

namespace blksweep {
namespace {}  // namespace

std::string difference(const FileRecord& then, const struct statx& now) {
  if (!S_ISREG(now.stx_mode)) {
    return "no longer a regular file";
  }
  if (now.stx_ino != then.inode) {
    return fmt::format("replaced (inode {} -> {})", then.inode, now.stx_ino);
  }
  if (now.stx_size != then.size) {
    return fmt::format("size {} -> {}", then.size, now.stx_size);
  }
  if (to_ns(now.stx_mtime) != then.mtime_ns) {
    return "written since the scan (mtime differs)";
  }
  if (to_ns(now.stx_ctime) != then.ctime_ns) {
    return "changed since the scan (ctime differs)";
  }
  return {};
}

std::vector<std::uint32_t> files_by_inode(const Catalog& catalog) {
  std::vector<std::uint32_t> order(catalog.files.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, {},
                    [&](std::uint32_t f) { return std::pair(catalog.files[f].inode, f); });
  return order;
}

namespace {

class Checker {
 public:
  Checker(const Catalog& catalog, const DataFiles& data, Inodes inodes)
      : catalog_(catalog), data_(data), inodes_(inodes) {
    struct stat st {};
    device_ = ::fstat(data.root(), &st) == 0 ? st.st_dev : 0;
  }

  // The zero-terminated path that statx wants, in reused memory.
  std::string difference_of(std::uint32_t file) {
    path_.assign(catalog_.path(file));
    struct statx st {};
    constexpr unsigned kMask = STATX_TYPE | STATX_INO | STATX_SIZE | STATX_MTIME | STATX_CTIME;
    const int links = data_.links() == Links::anywhere ? 0 : AT_SYMLINK_NOFOLLOW;
    if (::statx(data_.root(), path_.c_str(), links, kMask, &st) != 0) {
      return why_not_opened(errno);
    }
    if (S_ISLNK(st.stx_mode)) {
      const int opened = data_.open(file, O_RDONLY, path_);
      const Fd target(opened);
      if (!target) {
        return why_not_opened(-opened);
      }
      // Where it fails, what is known stays that of no regular file.
      ::statx(target.get(), "", AT_EMPTY_PATH, kMask, &st);
    }
    if (makedev(st.stx_dev_major, st.stx_dev_minor) != device_ && elsewhere_.size() < kNamed) {
      elsewhere_.push_back(path_);
    }
    if (inodes_ == Inodes::may_change) {
      st.stx_ino = catalog_.files[file].inode;
    }
    return difference(catalog_.files[file], st);
  }
  std::vector<std::string> elsewhere() { return std::move(elsewhere_); }

 private:
  static constexpr std::size_t kNamed = 10;

  const Catalog& catalog_;
  const DataFiles& data_;
  Inodes inodes_;
  dev_t device_ = 0;
  std::string path_;
  std::vector<std::string> elsewhere_;
};

}  // namespace

Result<CatalogCheck> check_catalog(const Catalog& catalog, Inodes inodes) {
  BLKSWEEP_TRY(const DataFiles data, DataFiles::open_root(catalog));
  CatalogCheck check;
  check.files = catalog.files.size();
  Checker checker(catalog, data, inodes);
  for (const std::uint32_t file : files_by_inode(catalog)) {
    if (const std::string what = checker.difference_of(file); !what.empty()) {
      check.changed.push_back({file, fmt::format("{}: {}", catalog.path(file), what)});
    }
  }
  std::ranges::sort(check.changed, {}, &ChangedFile::file);
  check.elsewhere = checker.elsewhere();
  return check;
}

}  // namespace blksweep
