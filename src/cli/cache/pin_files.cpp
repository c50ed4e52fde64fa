#include "cli/cache/pin_files.h"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dataset/walk.h"
#include "os/block/blockdev.h"
#include "os/file/open_regular.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

std::string absolute(const std::string& path) {
  std::error_code ec;
  const fs::path full = fs::absolute(path, ec);
  return ec ? path : full.string();
}

std::string without_slash(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) {
    path.pop_back();
  }
  return path;
}

void add_oddities(const ScanReport& report, PinnedSet& set) {
  for (const Oddity kind : {Oddity::unreadable, Oddity::vanished, Oddity::not_regular,
                            Oddity::dangling_symlink, Oddity::symlink_loop}) {
    const OddityCount& odd = report.of(kind);
    set.left_out += odd.count;
    if (set.first_left_out.empty() && !odd.named.empty()) {
      set.first_left_out = odd.named.front();
    }
  }
}

Result<> add_tree(const std::string& root, Walking walking, bool folders, PinnedSet& set) {
  ScanReport report;
  BLKSWEEP_TRY(Tree tree, walk_tree(root, report, walking));
  add_oddities(report, set);
  const std::string prefix = root == "/" ? root : root + "/";
  if (folders) {
    for (const TreeDirectory& d : tree.directories) {
      set.paths.add(without_slash(prefix + d.path));
    }
    set.folders += tree.directories.size();
  }
  std::erase_if(tree.entries, [](const TreeEntry& e) { return e.child != kFile; });
  std::ranges::sort(tree.entries, {}, &TreeEntry::inode);
  for (const TreeEntry& e : tree.entries) {
    set.paths.add(prefix + tree.path(e));
  }
  return {};
}

Result<> add_root(const std::string& given, const PinInput& input, PinnedSet& set) {
  const std::string root = without_slash(absolute(given));
  struct stat st {};
  if (::stat(root.c_str(), &st) != 0) {
    return sys_error(errno, "pin " + given);
  }
  if (S_ISDIR(st.st_mode)) {
    return add_tree(root, input.follow_links ? Walking::everywhere : Walking::beneath,
                    input.folders, set);
  }
  set.paths.add(root);
  return {};
}

// An empty line is no name; nothing writes an empty name between two NULs, but a file of holes has
// them.
Result<> add_name(const std::string& name, const PinInput& input, PinnedSet& set) {
  if (name.empty()) {
    return input.list_by_nul ? fail(input.list + ": an empty name in it: is it a list of paths?")
                             : Result<>();
  }
  set.paths.add(without_slash(absolute(name)));
  return {};
}

// As it comes: what is no list of paths is found out by its first kilobytes, however large it is.
Result<> add_names(int fd, const PinInput& input, PinnedSet& set) {
  const char end = input.list_by_nul ? '\0' : '\n';
  std::vector<char> part(std::size_t{1} << 20);
  std::string name;
  ssize_t n = 0;
  while ((n = ::read(fd, part.data(), part.size())) > 0) {
    for (std::string_view rest(part.data(), static_cast<std::size_t>(n)); !rest.empty();) {
      const std::size_t here = std::min(rest.find(end), rest.size());
      name += rest.substr(0, here);
      if (name.size() >= PATH_MAX) {
        return fail(input.list +
                    ": a name in it is longer than a path can be: is it a list of paths?");
      }
      if (here < rest.size()) {
        BLKSWEEP_CHECK(add_name(name, input, set));
        name.clear();
      }
      rest.remove_prefix(std::min(here + 1, rest.size()));
    }
  }
  if (n < 0) {
    return sys_error(errno, "read " + input.list);
  }
  return name.empty() ? Result<>() : add_name(name, input, set);
}

Result<> add_list(const PinInput& input, PinnedSet& set) {
  if (input.list == "-") {
    return add_names(STDIN_FILENO, input, set);
  }
  BLKSWEEP_TRY(const Fd fd, open_regular(input.list));
  return add_names(fd.get(), input, set);
}

}  // namespace

void PathList::add(std::string_view path) {
  text_ += path;
  ends_.push_back(text_.size());
}

std::string PathList::path(std::size_t i) const {
  const std::uint64_t begin = i == 0 ? 0 : ends_[i - 1];
  return text_.substr(begin, ends_[i] - begin);
}

void PathList::keep(const std::vector<std::uint32_t>& ascending) {
  PathList kept;
  for (const std::uint32_t i : ascending) {
    kept.add(path(i));
  }
  *this = std::move(kept);
}

Result<PinnedSet> collect(const PinInput& input) {
  PinnedSet set;
  for (const std::string& root : input.roots) {
    BLKSWEEP_CHECK(add_root(root, input, set));
  }
  if (!input.list.empty()) {
    BLKSWEEP_CHECK(add_list(input, set));
  }
  if (set.paths.size() > 0) {
    if (const auto mount = mount_of(set.paths.path(0)); mount) {
      set.filesystem = mount->filesystem;
    }
  }
  return set;
}

std::vector<std::uint64_t> sizes_of_files(PathList& paths) {
  std::vector<std::uint64_t> sizes;
  std::vector<std::uint32_t> kept;
  std::set<std::pair<dev_t, ino_t>> seen;
  for (std::uint32_t i = 0; i < paths.size(); ++i) {
    struct stat st {};
    const bool regular = ::stat(paths.path(i).c_str(), &st) == 0 && S_ISREG(st.st_mode);
    if (!regular || seen.emplace(st.st_dev, st.st_ino).second) {
      kept.push_back(i);
      sizes.push_back(regular ? static_cast<std::uint64_t>(st.st_size) : 0);
    }
  }
  if (kept.size() < paths.size()) {
    paths.keep(kept);
  }
  return sizes;
}

}  // namespace blksweep
