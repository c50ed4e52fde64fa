// RunNode: the node as one cell asks for it, borrowed before its run and given back after.
//
// Order:   borrow() sets the disk's queue, takes the pins and places this thread; then buffers are
//          allocated and caches prepared; enter() puts the process into its limits for the epoch
//          (and again for the fio twin), leave() takes it out; restore() gives everything back.
//          What was allocated before enter() does not count against the memory limit.
// Record:  every setting with what was asked, what the kernel read back, and what it was before.
// Crash:   everything is in the journal first (node/journal/borrowing.h); pins end with the
//          process.
// Errors:  borrow() changes nothing or all of it; check() says the same without changing anything,
//          so that a sweep does not fail after an hour.
// Threads: the thread that reads.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "experiment/cell.h"
#include "loader/source.h"
#include "loader/thread_role.h"
#include "node/limits/plan.h"
#include "node/queue.h"
#include "store/records.h"

namespace blksweep {

// What a wish says, in the words of those who set it; `node exec` has it set so, too.
QueueWish queue_wish(const NodeWish& wish);
LimitWish limit_wish(const NodeWish& wish, dev_t whole_disk);

class RunNode {
 public:
  // Before the host is described: the queue as it is, and not as a killed run left it. A failure
  // ends an experiment that would change the queue; for any other it is a warning.
  static Result<> put_back_left_behind(const Source& source, bool changes_queue);
  static Result<> check(const Source& source, const NodeWish& wish);
  static Result<RunNode> borrow(const Source& source, const NodeWish& wish, std::uint64_t seed,
                                const std::atomic<bool>& stop);
  RunNode(RunNode&&) noexcept;
  RunNode& operator=(RunNode&&) = delete;
  ~RunNode();  // restore(); a failure is a warning

  Result<> enter();
  Result<> leave();
  Result<> restore();

  bool limits_memory() const;
  // Prepares something within the limits; what it uses of them is not the run's.
  Result<> inside(const std::function<void()>& prepare);

  // A peer has the CPUs of all roles: this thread too from now on, which it inherits from.
  Result<> place_peer();
  // Of the threads that the loader starts; valid as long as this is.
  PlaceThread place_threads() const;
  std::uint64_t pinned_bytes() const;  // of the data, resident whatever the run does
  void record(RunRecord& run) const;   // settings, use of limits, warnings
  std::string lost() const;            // why the run was not what it asked for; "" when it was

 private:
  struct State;
  explicit RunNode(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace blksweep
