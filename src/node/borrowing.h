// Borrowing: what this process changed on the node, written down before it is changed, undone when
// it ends.
//
// Order:   add() has the loan on disk (fsync) before it returns; only then is the change made.
//          restore() undoes the newest first. A process that is killed leaves its journal behind:
//          restore_left_behind() (blksweep node restore) undoes that.
// Journal: one file per process in /run/blksweep/journal/, see journal.h.
// Locks:   a loan has a key; while its owner lives, no other process may borrow the same key: the
//          error names the holder and its pid. A key left behind by a dead process is given back
//          first (a note says so). Kept loans (`node set`) do not lock: others borrow on top.
// Errors:  add(): Exit::unsupported without root; a journal folder that cannot be trusted.
//          restore(): everything is tried, the first failure is returned, what failed stays in the
//          journal.
// Threads: one at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace blksweep {

// A file of /sys, /proc/sys or a cgroup, and the text to be written into it to have it as before.
struct SavedValue {
  std::string path, value;
};

enum class LoanKind {
  values,  // written back in this order, each only where it reads differently
  cgroup,  // `path`: a cgroup folder that we make; processes left in it are ended, it is removed
  controllers,  // `path`: a cgroup.subtree_control, `text`: what takes our addition back ("-io")
};

struct Loan {
  LoanKind kind = LoanKind::values;
  std::string key;   // what two processes must not hold at once: "loop0/queue", "vm/dirty_ratio"
  std::string what;  // for messages: "the scheduler of loop0"
  std::vector<SavedValue> values = {};
  std::string path = {}, text = {};
};

class Borrowing {
 public:
  // `kept`: the loans outlive this process (`node set`), until `node restore`.
  // Nothing is made on disk before the first add().
  static Result<Borrowing> begin(bool kept = false, const std::string& run_folder = "/run");
  Borrowing(Borrowing&&) noexcept;
  Borrowing& operator=(Borrowing&&) = delete;
  ~Borrowing();  // restore(), a failure is a warning; kept ones stay

  Result<> add(const Loan& loan);
  // Saves the present text of the file as a loan, writes `text`, and gives what the file reads
  // then (asked and got). A refusal names file, text and cause, and the loan is forgotten again.
  Result<std::string> set(const std::string& key, const SavedValue& wanted);
  Result<> restore();

 private:
  struct State;
  explicit Borrowing(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

struct RestoreReport {
  std::vector<std::string> restored;  // a line each
  std::vector<std::string> left;    // held by processes that live: "loop0/queue: pid 12 (blksweep)"
  std::vector<std::string> failed;  // journals that cannot be trusted, values that are refused
};
// Everything that dead processes left behind, and what `node set` keeps. `discard`: journals that
// cannot be trusted (damaged, of another boot) are removed unread.
Result<RestoreReport> restore_left_behind(bool discard = false,
                                          const std::string& run_folder = "/run");

}  // namespace blksweep
