// Pins: inodes and pages that stay cached while somebody holds them.
//
// Inodes:  an O_PATH descriptor holds dentry and inode, and through its parents those of every
//          folder on the way, across drop_caches and memory pressure. RLIMIT_NOFILE is a limit per
//          descriptor table, so threads that have a table of their own (close_range(2),
//          CLOSE_RANGE_UNSHARE) hold as many as it allows each: they cannot outlive the process,
//          get no signals and hold none of its other descriptors. take() raises the soft limit to
//          the hard one. tests and /proc see them in /proc/PID/task/TID/fd.
// Pages:   mmap and mlock of whole files; their bytes count against RLIMIT_MEMLOCK of a process
//          without CAP_IPC_LOCK. Beyond vm.max_map_count mappings they are held by forked helper
//          processes, which end with this process, however that ends.
// Charge:  kernel memory and pages go to the cgroup of the caller of take(): pin before entering a
//          run's own cgroup.
// Errors:  files that vanish or cannot be opened are counted and the first is named; a limit that
//          is too small says which, what it is and what it would have to be. Exit::interrupted when
//          `stop` said so; everything is let go then.
// Threads: one owner. `stop` and `progress` are called by the owner's thread some 50 times a
//          second; PinFiles::path by several threads at once.
// Source:  open(2) O_PATH, close_range(2), mlock(2), proc_sys_vm(5) max_map_count;
//          docs/cache-pins.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "plan/catalog.h"

namespace blksweep {

struct PinCost {
  std::uint64_t files = 0;
  std::uint64_t helpers = 0;     // threads (inodes) or processes (pages) that will hold them
  std::uint64_t per_helper = 0;  // descriptors or mappings that each may hold
  Bytes kernel_memory{0};        // estimate, for all files
  std::string memory_source;     // "object sizes in /proc/slabinfo" | "typical object sizes"
  Bytes locked{0};               // pages only
};

struct PinCount {
  std::uint64_t files = 0, failed = 0;  // `files` counts folders too
  std::uint64_t folders = 0;
  std::uint64_t helpers = 0;
  Bytes bytes{0};  // pages only
  std::string first_error = {};
  void add(const PinCount& part);  // of one helper; `helpers` stays
};

// Which files: names are made one by one, so that a million need not exist at once.
struct PinFiles {
  std::size_t count = 0;
  std::function<std::string(std::size_t)> path;
};
using PinProgress = std::function<void(std::uint64_t files_done)>;

class InodePin {
 public:
  // A symbolic link is held together with what it leads to.
  static Result<InodePin> take(const PinFiles& files, const std::function<bool()>& stop,
                               const PinProgress& progress = {});
  InodePin(InodePin&&) noexcept;
  InodePin& operator=(InodePin&&) noexcept;
  ~InodePin();  // lets go; all descriptors are closed when it returns
  const PinCount& count() const;

 private:
  struct State;
  explicit InodePin(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

class PagePin {
 public:
  // Reads what is not cached yet. Empty files count as pinned.
  static Result<PagePin> take(const PinFiles& files, const std::function<bool()>& stop,
                              const PinProgress& progress = {});
  PagePin(PagePin&&) noexcept;
  PagePin& operator=(PagePin&&) noexcept;
  ~PagePin();  // lets go; the helpers have ended when it returns
  const PinCount& count() const;
  bool is_whole() const;  // false: a helper was killed meanwhile, and its files are not held

 private:
  struct State;
  explicit PagePin(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Whole files, drawn evenly by `seed`, until they come to that part of the bytes (the last one only
// if it brings them closer); indices in ascending order. 0 gives none, 100 all.
std::vector<std::uint32_t> draw_share(std::span<const std::uint64_t> sizes, double percent,
                                      std::uint64_t seed);
// The same of a catalog, in address order, in which a disk reads them fastest. Drawn, so that the
// pinned part is not one region of the disk.
std::vector<std::uint32_t> files_for_share(const Catalog& catalog, double percent,
                                           std::uint64_t seed);

PinCost inode_pin_cost(std::uint64_t files, const std::string& filesystem);
PinCost page_pin_cost(std::span<const std::uint64_t> sizes, const std::string& filesystem);

// Refuses what plainly cannot be: more than the memory that is available, the memory limit of a
// cgroup, fs.file-max, RLIMIT_MEMLOCK.
Result<> check_inode_pin(const PinCost& cost);
Result<> check_page_pin(const PinCost& cost);

}  // namespace blksweep
