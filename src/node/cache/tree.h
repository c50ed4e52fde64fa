// FileSet: the files below one path that a cache command looks at or acts on.
//
// A folder stands for the regular files in it and below, on its filesystem; links inside are not
// followed (the path itself may be one). A file that has several names there is one file. Files
// come in inode order, so that asking each of them reads a cold inode table front to back.
//
// Errors:  of(): the path is missing, may not be read, or is neither file nor folder. What cannot
//          be listed below it is counted in unlisted(), the first is named.
// Threads: open() and look() from any thread with a scratch of its own; the rest is read only.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "dataset/walk.h"
#include "os/memory/residency.h"

namespace blksweep {

class FileSet {
 public:
  static Result<FileSet> of(const std::string& path);

  std::size_t size() const { return single_ ? 1 : order_.size(); }
  bool is_file() const { return single_; }
  int open(std::size_t i, std::string& scratch) const;  // read only; -1 and errno as openat(2)
  // stat(2) without opening, which is enough to bring the inode in; 0, or -1 and errno.
  int look(std::size_t i, std::string& scratch) const;
  std::string path(std::size_t i) const;
  // The folder directly below the root that file i is in, as a number for folders(); that of the
  // root itself is 0.
  std::size_t folder(std::size_t i) const { return single_ ? 0 : top_[directory(i)]; }
  std::vector<std::string> folders() const;  // "." for the root itself

  const std::string& root() const { return root_; }            // as given
  const std::string& real_root() const { return real_root_; }  // absolute, without links
  const std::string& filesystem() const { return filesystem_; }
  dev_t device() const { return device_; }
  std::uint64_t directories() const { return single_ ? 0 : tree_.directories.size(); }
  std::uint64_t links_left() const { return tree_.links_left; }
  std::uint64_t filesystems_left() const { return tree_.filesystems_left; }
  std::uint64_t more_names() const { return more_names_; }  // of files that are in the set already
  std::uint64_t unlisted() const { return unlisted_; }
  const std::string& first_unlisted() const { return first_unlisted_; }

 private:
  Result<> list();
  void number_folders();
  std::size_t directory(std::size_t i) const { return tree_.entries[order_[i]].directory; }

  std::string root_, real_root_, filesystem_, first_unlisted_;
  dev_t device_ = 0;
  bool single_ = false;
  Tree tree_;
  std::vector<std::uint32_t> order_;  // entries of the tree, by inode
  std::vector<std::uint32_t> top_;    // per directory: its folder()
  std::uint64_t more_names_ = 0, unlisted_ = 0;
};

// File i as residency() counts it: unreadable, with the cause, when `fd` is not open (errno is that
// of the open then) or may not be asked.
Residency residency_in(const FileSet& files, std::size_t i, const Fd& fd);

// Whether the files exist in memory only, so that their pages cannot be dropped (tmpfs, ramfs ...).
bool lives_in_memory(const std::string& filesystem);
// What the figures of this filesystem leave out, for a warning; empty where they are the whole.
std::string cache_caveat(const std::string& filesystem);

}  // namespace blksweep
