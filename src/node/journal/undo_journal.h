// Undoing a journal's loans, the newest first, and marking them as undone in its file.
//
// Errors:  everything is tried; a loan that fails stays in the journal unless it is to be
//          forgotten.
// Threads: one at a time, with the folder locked.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "node/journal/borrowing.h"
#include "node/journal/folder.h"

namespace blksweep {

struct Undoing {
  std::vector<std::string> done;  // a line each
  std::vector<Error> failed;
};

struct UndoPlan {
  const BorrowingPlaces& places;
  const JournalFolder& folder;
  std::function<bool(const JournalRecord&)> wanted = {};  // empty: all
  bool forget_refused = false;
};

void undo_one(const UndoPlan& plan, Journal& journal, JournalRecord& record, Undoing& out);
Undoing undo_journal(const UndoPlan& plan, Journal& journal);
// The file goes when no loan of it is left.
void remove_if_done(const UndoPlan& plan, const Journal& journal, Undoing& out);

bool holds(const Journal& journal, const std::string& key);
std::string holder_text(const JournalOwner& owner);  // "pid 12 (blksweep run ...)"
void at_step(const BorrowingPlaces& places, const char* name);

}  // namespace blksweep
