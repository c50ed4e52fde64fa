// The first half of a scan: which files are below a folder, without opening them.
//
// Entry::name and Directory::path point into the Tree's own text. Directories are read breadth
// first, links to directories after all real ones, so that a real path wins over a link.
// Threads: one owner.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "dataset/scan.h"

namespace blksweep {

struct TreeDirectory {
  std::string path;  // relative to the root with a trailing slash; "" for the root
  std::uint32_t parent = 0;
  std::uint32_t first_entry = 0, end_entry = 0;
  dev_t device = 0;
  ino_t inode = 0;
  Fd fd;  // kept only within the budget of descriptors
};

struct TreeEntry {
  std::uint64_t key;  // first 8 bytes of the name ("/" appended for a folder), for sorting
  std::uint64_t inode;
  std::uint32_t name;       // offset in Tree::names, zero-terminated
  std::uint32_t directory;  // where it is
  std::uint32_t child;      // a folder's number in Tree::directories; kFile
  std::uint32_t rank;       // position in readdir order
};
inline constexpr std::uint32_t kFile = 0xFFFFFFFF;
inline constexpr std::uint32_t kDropped = 0xFFFFFFFE;  // counted in the report, or not yet entered

enum class Walking {
  everywhere,  // links are followed, wherever they lead
  beneath,     // links that stay below the root are followed; others are an oddity
  inside,      // no link is followed and no other filesystem entered; both are counted
};

struct Tree {
  Fd root;
  Walking walking = Walking::beneath;
  std::vector<TreeDirectory> directories;
  std::vector<TreeEntry> entries;  // of one directory beside each other
  std::string names;
  std::uint64_t links_left = 0, filesystems_left = 0;  // Walking::inside: not followed, not entered

  const char* name(const TreeEntry& e) const { return names.data() + e.name; }
  std::string path(const TreeEntry& e) const { return directories[e.directory].path + name(e); }
  // Opens a file below its directory; -1 and errno as open_at(). It never waits; what it is now is
  // the caller's to look at.
  int open(const TreeEntry& e, std::string& scratch) const;
};

Result<Tree> walk_tree(const std::string& root, ScanReport& report,
                       Walking walking = Walking::beneath);

// Numbers of all file entries, sorted bytewise by path. Sorts the entries inside their directories.
std::vector<std::uint32_t> files_by_path(Tree& tree);

}  // namespace blksweep
