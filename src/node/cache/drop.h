// Dropping caches and proving it: of the whole node, or of one tree only.
//
// Node:    sync, then 1, 2 or 3 into /proc/sys/vm/drop_caches. 2 alone leaves the blocks of inode
//          tables and folders in the device's page cache; so does 3 with those that a journal
//          remembers, and 1 follows it.
// Tree:    what is dirty is written (fsync), POSIX_FADV_DONTNEED, and for pages that one other
//          process maps MADV_PAGEOUT on its mapping. The kernel has no way to evict the dentries
//          and inodes of one tree: they stay.
// Why:     what stays is traced to processes (mapped, locked, open) through /proc; what no process
//          explains is said to be unexplained.
// Rights:  the node: root, else Exit::unsupported. A tree: files that one owns or may write; to
//          page out of another process: root.
// Errors:  single files never fail a tree: they are counted, the first is named.
// Threads: one at a time.
// Source:  Documentation/admin-guide/sysctl/vm.rst, posix_fadvise(2), process_madvise(2);
//          docs/cache.md.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "node/cache/tree.h"
#include "os/memory/page_holders.h"
#include "os/memory/residency.h"

namespace blksweep {

enum class DropKind { pages = 1, inodes = 2, all = 3 };  // as drop_caches takes them

// What the kernel says of the node's caches; nullopt where this kernel does not say it.
struct NodeCaches {
  std::optional<std::uint64_t> file_pages, device_pages, tmpfs;          // bytes
  std::optional<std::uint64_t> dirty, mapped, locked, reclaimable_slab;  // bytes
  std::optional<std::uint64_t> inodes, dentries;                         // counts
};
NodeCaches node_caches();

// sync, then drop_caches, then a wait until what was dropped is freed.
Result<> drop_node(DropKind kind);

// A file of the tree that still has pages in memory.
struct StayedFile {
  std::string path;
  std::uint64_t bytes = 0;  // resident
  bool dirty = false;
  std::vector<PageHold> holds;
};

// Each file counts under the first that applies, in this order.
struct StayedCount {
  std::uint64_t files = 0, bytes = 0;
  std::uint64_t locked = 0, dirty = 0, mapped = 0, open = 0, unexplained = 0;  // files
};

struct TreeDrop {
  Residency before, after;
  StayedCount stayed;
  std::vector<StayedFile> named;  // the first kNamed of those that stayed
  std::uint64_t paged_out = 0;    // files whose pages went with MADV_PAGEOUT
  std::uint64_t unwritten = 0;    // files that fsync failed on
  std::string first_unwritten;
  std::size_t unseen_processes = 0;
  bool interrupted = false;
  static constexpr std::size_t kNamed = 5;
};

// `seen` is called now and then with the number of steps done (of 2 * files.size()).
TreeDrop drop_tree(const FileSet& files, const std::atomic<bool>& stop,
                   const std::function<void(std::uint64_t)>& seen = {});

}  // namespace blksweep
