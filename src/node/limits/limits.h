// RunCgroup: a cgroup of its own for one run (or one command) with a memory and I/O limit.
//
// v1:      memory.limit_in_bytes and blkio.throttle.read_*_device, below the process's own group of
//          each hierarchy. v2: memory.max and io.max, beside the process's own group (the kernel
//          allows no processes in a group that shares out controllers); controllers are switched
//          on down to there and back off afterwards.
// Memory:  bounds page cache and memory that is allocated inside; what was allocated before
//          enter() stays charged outside, so buffers and catalogs do not count.
// I/O:     for the whole disk: of a partition, its disk. Reads only. IOPS are bios before merging.
// Borrow:  every group and controller goes through Borrowing; a killed run's group is removed by
//          `node restore`.
// Errors:  Exit::unsupported where there is no such controller or no right to it, naming both.
// Threads: enter() and leave() move every thread of the process; from one thread. After a fork,
//          enter() in the child moves the child.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "node/journal/borrowing.h"
#include "node/limits/plan.h"
#include "node/queue.h"

namespace blksweep {

struct CgroupUse {
  std::uint64_t cache_bytes = 0;                   // page cache charged to the group now
  std::uint64_t cache_peak_bytes = 0;              // greatest seen by sample()
  std::optional<std::uint64_t> memory_peak_bytes;  // of everything charged, by the kernel
  std::optional<std::uint64_t> limit_hits;         // memory.failcnt, memory.events max
  bool killed = false;                             // the OOM killer was here
};

class RunCgroup {
 public:
  // Makes the groups, sets and reads back the limits; nobody is inside yet. Without a wish it is
  // an empty one whose functions do nothing.
  static Result<RunCgroup> create(const LimitWish& wish, Borrowing& borrowing);
  RunCgroup();  // an empty one
  RunCgroup(RunCgroup&&) noexcept;
  RunCgroup& operator=(RunCgroup&&) = delete;
  ~RunCgroup();  // leave(); the groups themselves go with the Borrowing

  Result<> enter();
  Result<> leave();  // back into the groups that the process came from
  // The limits still read as after create(): nobody took them away meanwhile (another process that
  // switched a controller off, an administrator). To be asked at the end of a run.
  Result<> still_set() const;
  void sample();  // notes cache_peak_bytes; cheap (one small file)
  CgroupUse use() const;
  const std::vector<AskedGot>& limits() const { return got_; }

 private:
  struct State;
  explicit RunCgroup(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
  std::vector<AskedGot> got_;
};

}  // namespace blksweep
