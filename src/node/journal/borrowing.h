// Borrowing: what this process changed on the node, written down before it is changed, undone when
// it ends.
//
// Order:   add() has the loan on disk (fsync) before it returns; only then is the change made.
//          restore() undoes the newest first. A process that is killed leaves its journal behind:
//          restore_left_behind() (blksweep node restore) undoes that.
// Journal: one file per process in /run/blksweep/journal/, see journal.h.
// Locks:   a loan has a key; while its owner lives, no other process may borrow the same key: the
//          error names the holder and its pid. A key left behind by a dead process is given back
//          first (a note says so). Kept loans (`node set`) do not lock: others borrow on top, but
//          only when the object that keeps them has gone, which is to be soon.
// Errors:  add(): Exit::unsupported without root; a journal folder that cannot be trusted.
//          restore(): everything is tried, the first failure is returned, what failed stays in the
//          journal.
// Threads: one at a time.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "node/journal/loan.h"

namespace blksweep {

// Where journals are, and what may be put back: nothing else is ever written to, whatever a journal
// says. Tests name folders of their own.
struct BorrowingPlaces {
  std::string run_folder = "/run";
  std::vector<std::string> permitted = {"/sys/block", "/sys/devices", "/sys/fs/cgroup",
                                        "/proc/sys/vm"};
  std::function<void(const char*)> at_step = {};  // for tests that end the process just there
};

class Borrowing {
 public:
  // `kept`: the loans outlive this process (`node set`), until `node restore`.
  // Nothing is made on disk before the first add().
  static Result<Borrowing> begin(bool kept = false, BorrowingPlaces places = {});
  Borrowing(Borrowing&&) noexcept;
  Borrowing& operator=(Borrowing&&) = delete;
  ~Borrowing();  // restore(), a failure is a warning; kept ones stay

  Result<> add(const Loan& loan);
  // The same with values to be saved: `make` reads them when the key is ours, after what a dead
  // holder left behind was put back. To be used wherever a loan saves what a file reads.
  Result<> add(const std::string& key, const std::function<Result<Loan>()>& make);
  // Tells the journal what a file of the newest loan reads after our change, so that restoring can
  // say when somebody else changed it meanwhile. Best effort: nothing depends on it.
  void changed(const SavedValue& reads);
  // Undoes the newest loan alone.
  Result<> take_back();
  // Saves the present text of the file as a loan, writes `text`, and gives what the file reads
  // then (asked and got). A refusal names file, text and cause, and the loan is forgotten again.
  Result<std::string> set(const std::string& key, const SavedValue& wanted);
  Result<> restore();  // of this object's loans, kept ones too; those that fail stay

 private:
  struct State;
  explicit Borrowing(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Puts back what dead processes left behind of the key, with a note each, before somebody describes
// what it names. What a living process holds stays as it is. Makes nothing where nothing was left.
Result<> put_back_left_behind(const std::string& key, const BorrowingPlaces& places = {});

// What this very process borrowed, after it was executed anew (os/process/fatal_end.h).
Result<std::vector<std::string>> restore_own(const BorrowingPlaces& places = {});

struct RestoreReport {
  std::vector<std::string> restored;  // a line each
  std::vector<std::string> left;    // held by processes that live: "loop0/queue: pid 12 (blksweep)"
  std::vector<std::string> later;   // kept, but such a process has borrowed it on top
  std::vector<std::string> failed;  // journals that cannot be trusted, values that are refused
};
// Everything that dead processes left behind, and what `node set` keeps. `discard`: journals that
// cannot be trusted (damaged, of another boot) are removed unread, and what is refused is
// forgotten.
Result<RestoreReport> restore_left_behind(bool discard = false, const BorrowingPlaces& places = {});

}  // namespace blksweep
