#include "dataset/walk.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <set>
#include <span>
#include <utility>

#include "dataset/pack_index.h"
#include "os/file/open_regular.h"
#include "os/mount/foreign_mounts.h"

namespace blksweep {
namespace {

// Offsets into the names have 32 bits; one directory more must still fit.
constexpr std::size_t kMaxNames = std::size_t{3} << 30;

Links links_of(Walking walking) {
  return walking == Walking::everywhere ? Links::anywhere : Links::beneath;
}

std::size_t descriptor_budget() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? static_cast<std::size_t>(limit.rlim_cur) / 2
                                                 : 256;
}

std::uint64_t sort_key(const char* name, bool folder) {
  std::uint64_t key = 0;
  for (int shift = 56; shift >= 0; shift -= 8) {
    if (*name == '\0') {
      return folder ? key | std::uint64_t{'/'} << shift : key;
    }
    key |= std::uint64_t{static_cast<unsigned char>(*name++)} << shift;
  }
  return key;
}

class Walk {
 public:
  Walk(Tree& tree, ScanReport& report, Walking walking)
      : tree_(tree), report_(report), walking_(walking), budget_(descriptor_budget()) {}

  Result<> run(const std::string& root) {
    BLKSWEEP_CHECK(refuse_foreign_mounts(root));
    BLKSWEEP_TRY(tree_.root, open_root(root));
    Fd again(::openat(tree_.root.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!again) {
      return sys_error(errno, "open " + root);
    }
    if (enter("", 0, std::move(again)) == kDropped) {
      return sys_error(errno, "look at " + root);
    }
    // Both lists grow while they are read.
    for (std::size_t d = 0, l = 0; d < tree_.directories.size() || l < links_.size();) {
      if (d < tree_.directories.size()) {
        BLKSWEEP_CHECK(read_directory(static_cast<std::uint32_t>(d++), root));
        if (tree_.names.size() > kMaxNames) {
          return fail("scan " + root + ": more than one catalog can hold: scan parts of it");
        }
      } else {
        enter_link(links_[l++]);
      }
    }
    report_.directories = tree_.directories.size();
    return {};
  }

 private:
  static Result<Fd> open_root(const std::string& root) {
    Fd fd(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd) {
      return sys_error(errno, "open directory " + root);
    }
    return fd;
  }

  // Registers an open directory; its number, or kDropped when it was entered before or cannot be
  // looked at.
  std::uint32_t enter(std::string path, std::uint32_t parent, Fd fd) {
    struct stat st {};
    if (::fstat(fd.get(), &st) != 0) {
      const int error = errno;
      report_.add(Oddity::unreadable, path + ": " + std::strerror(error));
      errno = error;
      return kDropped;
    }
    if (!seen_.emplace(st.st_dev, st.st_ino).second) {
      return kDropped;
    }
    if (walking_ == Walking::inside && !tree_.directories.empty() &&
        st.st_dev != tree_.directories[0].device) {
      ++tree_.filesystems_left;
      return kDropped;
    }
    TreeDirectory d;
    d.path = std::move(path);
    d.parent = parent;
    d.device = st.st_dev;
    d.inode = st.st_ino;
    if (tree_.directories.size() < budget_) {
      d.fd = std::move(fd);  // else opened again by path when its turn comes
    }
    tree_.directories.push_back(std::move(d));
    return static_cast<std::uint32_t>(tree_.directories.size() - 1);
  }

  Fd open_directory(const std::string& path) {
    return Fd(open_at(tree_.root.get(), path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC,
                      links_of(walking_)));
  }

  Result<> read_directory(std::uint32_t number, const std::string& root) {
    Fd fd = std::move(tree_.directories[number].fd);
    if (!fd) {
      fd = open_directory(tree_.directories[number].path);
    }
    tree_.directories[number].first_entry = static_cast<std::uint32_t>(tree_.entries.size());
    ssize_t n = 0;
    while (fd && (n = ::getdents64(fd.get(), buffer_.data(), buffer_.size())) > 0) {
      add_entries(number, fd.get(), static_cast<std::size_t>(n));
    }
    if (const int err = errno; !fd || n < 0) {
      if (number == 0) {
        return sys_error(err, "read directory " + root);
      }
      report_.add(Oddity::unreadable, tree_.directories[number].path + ": " + std::strerror(err));
    }
    tree_.directories[number].end_entry = static_cast<std::uint32_t>(tree_.entries.size());
    if (number < budget_) {
      tree_.directories[number].fd = std::move(fd);
    }
    return {};
  }

  void add_entries(std::uint32_t directory, int fd, std::size_t bytes) {
    for (std::size_t at = 0; at < bytes;) {
      const auto* d = reinterpret_cast<const dirent64*>(buffer_.data() + at);
      at += d->d_reclen;
      const bool is_dot = d->d_name[0] == '.' &&
                          (d->d_name[1] == '\0' || (d->d_name[1] == '.' && d->d_name[2] == '\0'));
      if (!is_dot && !(directory == 0 && d->d_name == kPackFolder)) {
        add_entry(directory, fd, *d);
      }
    }
  }

  void add_entry(std::uint32_t directory, int fd, const dirent64& d) {
    TreeEntry e{0,         d.d_ino, static_cast<std::uint32_t>(tree_.names.size()),
                directory, kFile,   rank_++};
    tree_.names.append(d.d_name).push_back('\0');
    unsigned char type = d.d_type;
    if (type == DT_LNK && walking_ == Walking::inside) {
      ++tree_.links_left;
      return;
    }
    if (type == DT_LNK || type == DT_UNKNOWN) {
      type = resolve(fd, d, e);
    }
    if (type == DT_REG) {
      e.key = sort_key(d.d_name, false);
    } else if (type == DT_DIR) {
      add_directory(d, e);
    } else {
      if (type != DT_WHT) {  // resolve() has counted it
        report_.add(Oddity::not_regular, tree_.path(e));
      }
      return;
    }
    tree_.entries.push_back(e);
  }

  // A link's (or unknown entry's) kind; DT_WHT when it leads nowhere and is counted.
  unsigned char resolve(int fd, const dirent64& d, TreeEntry& e) {
    struct stat st {};
    if (!look(fd, d, e, st)) {
      const int err = errno;
      const Oddity kind = err == ELOOP    ? Oddity::symlink_loop
                          : err == ENOENT ? Oddity::dangling_symlink
                          : err == EXDEV  ? Oddity::outside_link
                                          : Oddity::unreadable;
      report_.add(
          kind, tree_.path(e) + (kind == Oddity::unreadable ? std::string(": ") + std::strerror(err)
                                                            : std::string()));
      return DT_WHT;
    }
    if (S_ISLNK(st.st_mode)) {
      ++tree_.links_left;
      return DT_WHT;
    }
    e.inode = st.st_ino;
    return static_cast<unsigned char>(IFTODT(st.st_mode));
  }

  bool look(int fd, const dirent64& d, const TreeEntry& e, struct stat& st) const {
    if (walking_ != Walking::beneath) {
      const int flags = walking_ == Walking::inside ? AT_SYMLINK_NOFOLLOW : 0;
      return ::fstatat(fd, d.d_name, &st, flags) == 0;
    }
    const Fd at(
        open_at(tree_.root.get(), tree_.path(e).c_str(), O_PATH | O_CLOEXEC, Links::beneath));
    return at && ::fstat(at.get(), &st) == 0;
  }

  void add_directory(const dirent64& d, TreeEntry& e) {
    e.key = sort_key(d.d_name, true);
    e.child = kDropped;
    if (d.d_type != DT_DIR) {
      links_.push_back(static_cast<std::uint32_t>(tree_.entries.size()));
      return;
    }
    const std::string path = tree_.path(e);
    Fd fd = open_directory(path);
    if (!fd) {
      report_.add(errno == ENOENT ? Oddity::vanished : Oddity::unreadable,
                  path + ": " + std::strerror(errno));
      return;
    }
    e.child = enter(path + "/", e.directory, std::move(fd));
  }

  void enter_link(std::uint32_t entry) {
    const TreeEntry e = tree_.entries[entry];
    const std::string path = tree_.path(e);
    Fd fd = open_directory(path);
    if (!fd) {
      report_.add(Oddity::unreadable, path + ": " + std::strerror(errno));
      return;
    }
    struct stat st {};
    const bool known = ::fstat(fd.get(), &st) == 0;
    tree_.entries[entry].child = enter(path + "/", e.directory, std::move(fd));
    if (known && tree_.entries[entry].child == kDropped) {
      const bool loop = is_above(e.directory, st);
      report_.add(loop ? Oddity::symlink_loop : Oddity::directory_again, path);
    }
  }

  bool is_above(std::uint32_t directory, const struct stat& st) const {
    for (;; directory = tree_.directories[directory].parent) {
      const TreeDirectory& d = tree_.directories[directory];
      if (d.device == st.st_dev && d.inode == st.st_ino) {
        return true;
      }
      if (directory == 0) {
        return false;
      }
    }
  }

  Tree& tree_;
  ScanReport& report_;
  Walking walking_;
  std::size_t budget_;
  std::uint32_t rank_ = 0;
  std::vector<std::uint32_t> links_;  // entries that link to directories
  std::set<std::pair<dev_t, ino_t>> seen_;
  alignas(dirent64) std::array<char, std::size_t{64} * 1024> buffer_;
};

bool path_less(const Tree& tree, const TreeEntry& a, const TreeEntry& b) {
  if (a.key != b.key) {
    return a.key < b.key;
  }
  // Rare: equal in the first 8 bytes. A folder's name ends in a slash, as it does in its paths.
  const std::string_view left = tree.name(a);
  const std::string_view right = tree.name(b);
  const std::size_t common = std::min(left.size(), right.size());
  if (const int c = std::memcmp(left.data(), right.data(), common); c != 0) {
    return c < 0;
  }
  const auto next = [common](std::string_view text, const TreeEntry& e) {
    return common < text.size() ? static_cast<unsigned char>(text[common])
                                : static_cast<unsigned char>(e.child == kFile ? 0 : '/');
  };
  return next(left, a) < next(right, b);
}

}  // namespace

int Tree::open(const TreeEntry& e, std::string& scratch) const {
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  const TreeDirectory& d = directories[e.directory];
  const Links links = links_of(walking);
  if (d.fd) {
    const int plain = links == Links::anywhere ? 0 : O_NOFOLLOW;
    const int fd = ::openat(d.fd.get(), name(e), kFlags | plain);
    if (fd >= 0 || errno != ELOOP || plain == 0) {
      return fd;
    }
  }
  scratch.assign(d.path).append(name(e));
  return open_at(root.get(), scratch.c_str(), kFlags, links);
}

Result<Tree> walk_tree(const std::string& root, ScanReport& report, Walking walking) {
  Tree tree;
  tree.walking = walking;
  BLKSWEEP_CHECK(Walk(tree, report, walking).run(root));
  return tree;
}

std::vector<std::uint32_t> files_by_path(Tree& tree) {
  for (const TreeDirectory& d : tree.directories) {
    std::sort(tree.entries.begin() + d.first_entry, tree.entries.begin() + d.end_entry,
              [&tree](const TreeEntry& a, const TreeEntry& b) { return path_less(tree, a, b); });
  }
  std::vector<std::uint32_t> out;
  out.reserve(tree.entries.size());
  std::vector<std::pair<std::uint32_t, std::uint32_t>> stack{
      {tree.directories[0].first_entry, tree.directories[0].end_entry}};
  while (!stack.empty()) {
    auto& [at, end] = stack.back();
    if (at == end) {
      stack.pop_back();
      continue;
    }
    const std::uint32_t entry = at++;
    const std::uint32_t child = tree.entries[entry].child;
    if (child == kFile) {
      out.push_back(entry);
    } else if (child != kDropped) {
      stack.emplace_back(tree.directories[child].first_entry, tree.directories[child].end_entry);
    }
  }
  return out;
}

}  // namespace blksweep
