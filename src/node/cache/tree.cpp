#include "node/cache/tree.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "os/block/blockdev.h"
#include "os/file/open_regular.h"

namespace blksweep {
namespace {

constexpr int kOpenFlags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;

std::string real_path(const std::string& path) {
  std::error_code ec;
  const auto real = std::filesystem::canonical(path, ec);
  return ec ? path : real.string();
}

}  // namespace

Result<FileSet> FileSet::of(const std::string& path) {
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) {
    return sys_error(errno, "open " + path);
  }
  if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
    return fail("open " + path + ": neither a file nor a folder: give one of these");
  }
  FileSet set;
  set.root_ = path;
  set.real_root_ = real_path(path);
  set.device_ = st.st_dev;
  set.single_ = S_ISREG(st.st_mode);
  if (const Result<MountFacts> mount = mount_of(path); mount) {
    set.filesystem_ = mount->filesystem;
  }
  if (!set.single_) {
    BLKSWEEP_CHECK(set.list());
    return set;
  }
  std::string scratch;
  if (const Fd fd(set.open(0, scratch)); !fd) {
    return sys_error(errno, "open " + path);
  }
  return set;
}

Result<> FileSet::list() {
  ScanReport report;
  BLKSWEEP_TRY(tree_, walk_tree(root_, report, Walking::inside));
  for (const Oddity kind : {Oddity::unreadable, Oddity::vanished}) {
    const OddityCount& odd = report.of(kind);
    unlisted_ += odd.count;
    if (first_unlisted_.empty() && !odd.named.empty()) {
      first_unlisted_ = odd.named.front();
    }
  }
  for (std::uint32_t e = 0; e < tree_.entries.size(); ++e) {
    if (tree_.entries[e].child == kFile) {
      order_.push_back(e);
    }
  }
  const auto inode = [this](std::uint32_t e) { return tree_.entries[e].inode; };
  std::ranges::sort(order_, {}, inode);
  const auto again = std::unique(order_.begin(), order_.end(),
                                 [&](auto a, auto b) { return inode(a) == inode(b); });
  more_names_ = static_cast<std::uint64_t>(order_.end() - again);
  order_.erase(again, order_.end());
  number_folders();
  return {};
}

// Directories are listed breadth first: a parent is numbered before its children.
void FileSet::number_folders() {
  top_.resize(tree_.directories.size());
  std::uint32_t folders = 0;
  for (std::uint32_t d = 1; d < top_.size(); ++d) {
    const std::uint32_t parent = tree_.directories[d].parent;
    top_[d] = parent == 0 ? ++folders : top_[parent];
  }
}

std::vector<std::string> FileSet::folders() const {
  std::vector<std::string> names{"."};
  for (std::size_t d = 1; d < top_.size(); ++d) {
    if (top_[d] == names.size()) {
      const std::string& path = tree_.directories[d].path;
      names.push_back(path.substr(0, path.size() - 1));
    }
  }
  return names;
}

int FileSet::open(std::size_t i, std::string& scratch) const {
  if (single_) {
    // Whatever it was when it was named: it may be a link to a device by now.
    return open_kind_at(AT_FDCWD, root_.c_str(), 0, S_IFREG);
  }
  const TreeEntry& e = tree_.entries[order_[i]];
  const TreeDirectory& d = tree_.directories[e.directory];
  if (d.fd) {
    return ::openat(d.fd.get(), tree_.name(e), kOpenFlags | O_NOFOLLOW);
  }
  scratch.assign(d.path).append(tree_.name(e));
  return ::openat(tree_.root.get(), scratch.c_str(), kOpenFlags | O_NOFOLLOW);
}

int FileSet::look(std::size_t i, std::string& scratch) const {
  struct stat st {};
  if (single_) {
    return ::stat(root_.c_str(), &st);
  }
  const TreeEntry& e = tree_.entries[order_[i]];
  const TreeDirectory& d = tree_.directories[e.directory];
  if (d.fd) {
    return ::fstatat(d.fd.get(), tree_.name(e), &st, AT_SYMLINK_NOFOLLOW);
  }
  scratch.assign(d.path).append(tree_.name(e));
  return ::fstatat(tree_.root.get(), scratch.c_str(), &st, AT_SYMLINK_NOFOLLOW);
}

std::string FileSet::path(std::size_t i) const {
  if (single_) {
    return root_;
  }
  return root_ + (root_.ends_with('/') ? "" : "/") + tree_.path(tree_.entries[order_[i]]);
}

Residency residency_in(const FileSet& files, std::size_t i, const Fd& fd) {
  const int error = errno;
  Result<Residency> r =
      fd ? residency_of(fd.get()) : Result<Residency>(sys_error(error, "open " + files.path(i)));
  if (r) {
    return *std::move(r);
  }
  Residency bad;
  bad.files = bad.unreadable = 1;
  bad.first_error = fd ? r.error().text + " of " + files.path(i) : r.error().text;
  return bad;
}

bool lives_in_memory(const std::string& filesystem) {
  constexpr const char* kNames[] = {"tmpfs", "ramfs", "devtmpfs", "hugetlbfs", "rootfs"};
  return std::ranges::find(kNames, filesystem) != std::end(kNames);
}

std::string cache_caveat(const std::string& filesystem) {
  if (lives_in_memory(filesystem)) {
    return filesystem + ": the pages are the file; they cannot be dropped and need no warming";
  }
  if (filesystem == "zfs") {
    return "zfs keeps data in a cache of its own (ARC), which is not seen here: cold is not cold";
  }
  if (filesystem.starts_with("nfs") || filesystem == "cifs" || filesystem == "smb3" ||
      filesystem == "ceph" || filesystem == "9p" || filesystem.starts_with("fuse")) {
    return filesystem + ": only this node's page cache is seen; the server has caches of its own";
  }
  return {};
}

}  // namespace blksweep
