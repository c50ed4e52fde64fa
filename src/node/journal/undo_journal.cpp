#include "node/journal/undo_journal.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "node/journal/undo.h"

namespace blksweep {
namespace {

std::string line_of(const JournalRecord& record, const std::string& outcome) {
  return fmt::format("{}: {}", record.loan.what, outcome);
}

}  // namespace

void at_step(const BorrowingPlaces& places, const char* name) {
  if (places.at_step) {
    places.at_step(name);
  }
}

bool holds(const Journal& journal, const std::string& key) {
  return std::ranges::any_of(
      journal.records, [&key](const JournalRecord& r) { return !r.undone && r.loan.key == key; });
}

std::string holder_text(const JournalOwner& owner) {
  return fmt::format("pid {} ({})", owner.id.pid, owner.command);
}

void undo_one(const UndoPlan& plan, Journal& journal, JournalRecord& record, Undoing& out) {
  at_step(plan.places, "before undo");
  const Result<std::string> outcome = undo(record, plan.places.permitted);
  if (outcome) {
    out.done.push_back(line_of(record, *outcome));
  } else {
    Error error = outcome.error();
    error.text = line_of(record, error.text);
    out.failed.push_back(std::move(error));
    if (!plan.forget_refused) {
      return;
    }
  }
  record.undone = true;
  at_step(plan.places, "after undo");
  if (record.number > journal.records.size()) {
    return;  // its file has vanished: nothing to be marked
  }
  // Not durable: undoing twice is harmless.
  if (auto marked = plan.folder.append(journal, undone_line(record.number), false); !marked) {
    out.failed.push_back(marked.error());
  }
}

void remove_if_done(const UndoPlan& plan, const Journal& journal, Undoing& out) {
  if (!std::ranges::all_of(journal.records, &JournalRecord::undone)) {
    return;
  }
  at_step(plan.places, "before remove");
  if (auto removed = plan.folder.remove(journal.name); !removed) {
    out.failed.push_back(removed.error());
  }
}

Undoing undo_journal(const UndoPlan& plan, Journal& journal) {
  Undoing out;
  for (auto record = journal.records.rbegin(); record != journal.records.rend(); ++record) {
    if (!record->undone && (!plan.wanted || plan.wanted(*record))) {
      undo_one(plan, journal, *record, out);
    }
  }
  remove_if_done(plan, journal, out);
  return out;
}

}  // namespace blksweep
