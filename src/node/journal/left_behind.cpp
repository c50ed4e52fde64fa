// restore_left_behind: what dead processes borrowed and what `node set` keeps.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "node/journal/borrowing.h"
#include "node/journal/folder.h"
#include "node/journal/undo_journal.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

struct HeldLoan {
  std::string key, by;
};

std::vector<HeldLoan> held_by_the_living(const std::vector<FoundJournal>& all) {
  std::vector<HeldLoan> held;
  for (const FoundJournal& found : all) {
    if (!found.journal || found.journal->owner.kept || !is_alive(found.journal->owner.id)) {
      continue;
    }
    for (const JournalRecord& record : found.journal->records) {
      const bool known = std::ranges::any_of(
          held, [&record](const HeldLoan& h) { return h.key == record.loan.key; });
      if (!record.undone && !known) {
        held.push_back({record.loan.key, holder_text(found.journal->owner)});
      }
    }
  }
  return held;
}

const HeldLoan* holder_of(const std::vector<HeldLoan>& held, const std::string& key) {
  const auto at = std::ranges::find(held, key, &HeldLoan::key);
  return at == held.end() ? nullptr : &*at;
}

void take_over(const Undoing& undoing, RestoreReport& report) {
  report.restored.insert(report.restored.end(), undoing.done.begin(), undoing.done.end());
  for (const Error& error : undoing.failed) {
    report.failed.push_back(error.text);
  }
}

// Removes a link itself, never what it points to.
void discard_unread(const FoundJournal& found, const JournalFolder& folder, RestoreReport& report) {
  const std::string name = fs::path(found.path).filename().string();
  if (const auto removed = folder.remove(name); removed) {
    report.restored.push_back(fmt::format("removed unread: {}", found.path));
  } else {
    report.failed.push_back(removed.error().text);
  }
}

void undo_kept(const UndoPlan& plan, const std::vector<HeldLoan>& held, Journal& journal,
               RestoreReport& report) {
  for (const JournalRecord& record : journal.records) {
    const HeldLoan* holder = record.undone ? nullptr : holder_of(held, record.loan.key);
    if (holder != nullptr) {
      report.later.push_back(fmt::format("{}: {}", record.loan.key, holder->by));
    }
  }
  UndoPlan free_ones = plan;
  free_ones.wanted = [&held](const JournalRecord& r) {
    return holder_of(held, r.loan.key) == nullptr;
  };
  take_over(undo_journal(free_ones, journal), report);
}

}  // namespace

Result<RestoreReport> restore_left_behind(bool discard, const BorrowingPlaces& places) {
  RestoreReport report;
  BLKSWEEP_TRY(const Fd changes, lock_changes(places.run_folder));
  BLKSWEEP_TRY(const JournalFolder folder, JournalFolder::lock(places.run_folder));
  BLKSWEEP_TRY(std::vector<FoundJournal> all, folder.read_all());
  const std::vector<HeldLoan> held = held_by_the_living(all);
  for (const HeldLoan& h : held) {
    report.left.push_back(fmt::format("{}: {}", h.key, h.by));
  }
  const UndoPlan plan{.places = places, .folder = folder, .forget_refused = discard};
  for (FoundJournal& found : all) {
    if (!found.journal) {
      if (discard) {
        discard_unread(found, folder, report);
      } else {
        report.failed.push_back(found.journal.error().text);
      }
    } else if (!found.journal->owner.kept && !is_alive(found.journal->owner.id)) {
      take_over(undo_journal(plan, *found.journal), report);
    }
  }
  // Below the loans of processes, so after them: "kept" is undone last.
  for (FoundJournal& found : all) {
    if (found.journal && found.journal->owner.kept) {
      undo_kept(plan, held, *found.journal, report);
    }
  }
  return report;
}

}  // namespace blksweep
