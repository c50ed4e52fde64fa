// Undoing one loan: writes saved values back, removes a cgroup, takes controllers back.
//
// Twice:   harmless; what is as before already is left alone, what has vanished (a device that was
//          removed) needs no undoing.
// Limits:  only files and folders below `permitted` are touched, only cgroups with "blksweep" in
//          their name are removed, and this process is never ended with one.
// Errors:  everything of the loan is tried; the first failure.
// Threads: one at a time.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "node/journal/journal.h"

namespace blksweep {

// An Error when that loan could not be undone for reasons that are known beforehand.
Result<> check_loan(const Loan& loan, const std::vector<std::string>& permitted);

// What was done, in words: "nr_requests 64 -> 128; ...".
Result<std::string> undo(const JournalRecord& record, const std::vector<std::string>& permitted);

// Of a disk that was started, an image or a device that was mounted (undo_disk.cpp).
bool is_disk_loan(LoanKind kind);
bool check_disk_loan(const Loan& loan);
Result<std::string> undo_disk(const Loan& loan);

bool holds_this_process(const std::string& cgroup);  // it or one below it

// Ends what is left in the cgroup and those below it (SIGKILL), then removes them all.
Result<> remove_cgroup(const std::string& path);

}  // namespace blksweep
