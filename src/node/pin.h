// Pins: inodes and pages that stay cached while somebody holds them.
//
// Inodes:  an O_PATH descriptor holds dentry and inode across drop_caches and memory pressure.
//          Descriptors beyond RLIMIT_NOFILE are held by helper processes, each with as many as it
//          may have; a helper ends with the process that made it, however that ends.
// Pages:   mmap and mlock of whole files; their bytes count against RLIMIT_MEMLOCK of a process
//          without CAP_IPC_LOCK.
// Memory:  PinCost says beforehand what a pin will take: kernel memory per inode (dentry, inode,
//          file; by filesystem), page-cache bytes, helpers.
// Errors:  files that vanish or cannot be opened are counted and the first is named; a limit that
//          is too small says which, what it is and what it would have to be.
// Threads: one owner. Source: open(2) O_PATH, mlock(2); shared kernel facts in
// docs/kernel-notes.md.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "plan/catalog.h"

namespace blksweep {

struct PinCost {
  std::uint64_t files = 0, descriptors_per_helper = 0,
                helpers = 0;  // 0 helpers: all in one process
  Bytes kernel_memory{0};     // estimate
  Bytes locked{0};            // pages
};

struct PinCount {
  std::uint64_t files = 0, failed = 0;
  Bytes bytes{0};  // pages only
  std::string first_error;
};

// Which files: names are made one by one, so that a million need not exist at once.
struct PinFiles {
  std::size_t count = 0;
  std::function<std::string(std::size_t)> path;
};

class InodePin {
 public:
  static Result<InodePin> take(const PinFiles& files, const std::function<bool()>& stop);
  InodePin(InodePin&&) noexcept;
  InodePin& operator=(InodePin&&) noexcept;
  ~InodePin();  // lets go; the helpers have ended when it returns
  const PinCount& count() const;

 private:
  struct State;
  explicit InodePin(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

class PagePin {
 public:
  static Result<PagePin> take(const PinFiles& files, const std::function<bool()>& stop);
  PagePin(PagePin&&) noexcept;
  PagePin& operator=(PagePin&&) noexcept;
  ~PagePin();
  const PinCount& count() const;

 private:
  struct State;
  explicit PagePin(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Files in address order until they come to that part of the bytes: whole files, drawn evenly by
// `seed` so that the pinned part is not one region of the disk.
std::vector<std::uint32_t> files_for_share(const Catalog& catalog, double percent,
                                           std::uint64_t seed);

PinCost inode_pin_cost(std::uint64_t files, const std::string& filesystem);

}  // namespace blksweep
