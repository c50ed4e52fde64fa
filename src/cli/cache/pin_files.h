// The files that `cache pin` is given: folders, files, lists.
//
// Order:   inside a folder by inode number, in which a cold disk reads inodes fastest; folders too,
//          so that links to folders are held.
// Memory:  one text and 8 bytes per name.
// Errors:  a root that is not there, a list that cannot be read; nothing found is left to the
//          caller. Threads: reading a PathList is safe from several at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace blksweep {

class PathList {
 public:
  void add(std::string_view path);
  std::size_t size() const { return ends_.size(); }
  std::string path(std::size_t i) const;
  void keep(const std::vector<std::uint32_t>& ascending);  // only these

 private:
  std::string text_;
  std::vector<std::uint64_t> ends_;
};

struct PinInput {
  std::vector<std::string> roots;
  std::string list;  // a file of paths, "-" is stdin; "" none
  bool list_by_nul = false;
  bool follow_links = false;  // those that lead out of a folder too
  bool folders = false;       // as entries of their own
};

struct PinnedSet {
  PathList paths;              // absolute
  std::uint64_t folders = 0;   // of them
  std::uint64_t left_out = 0;  // unreadable, not regular ...
  std::string first_left_out;
  std::string filesystem;  // of the first path
};

Result<PinnedSet> collect(const PinInput& input);
// Leaves one name of each file, the first: its other names have the same pages. Bytes of each; 0
// for what cannot be looked at (pinning it says why).
std::vector<std::uint64_t> sizes_of_files(PathList& paths);

}  // namespace blksweep
