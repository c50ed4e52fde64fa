#include "node/journal/borrowing.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include "base/fd.h"
#include "base/log.h"
#include "base/text.h"
#include "node/journal/folder.h"
#include "node/journal/undo.h"
#include "node/journal/undo_journal.h"
#include "node/setting.h"
#include "os/file/file.h"
#include "os/process/fatal_end.h"

namespace blksweep {
namespace {

constexpr std::size_t kCommandLength = 200;

std::string own_command() {
  return one_line(whole_text("/proc/self/cmdline").substr(0, kCommandLength));
}

// The same loan as the file has it; nullptr when the file was removed or replaced meanwhile.
JournalRecord* same_record(Journal& journal, const JournalRecord& ours) {
  const auto at = std::ranges::find_if(journal.records, [&ours](const JournalRecord& r) {
    return r.number == ours.number && r.loan == ours.loan;
  });
  return at == journal.records.end() ? nullptr : &*at;
}

bool same_process(const ProcessId& a, const ProcessId& b) {
  return a.pid == b.pid && a.start_time == b.start_time;
}

Result<> put_back(Journal& journal, const BorrowingPlaces& places, const JournalFolder& folder) {
  const Undoing undoing = undo_journal({.places = places, .folder = folder}, journal);
  for (const std::string& line : undoing.done) {
    note(fmt::format("put back what {} left behind: {}", holder_text(journal.owner), line));
  }
  if (!undoing.failed.empty()) {
    Error error = undoing.failed.front();
    error.text += fmt::format(
        " (left behind by {}; `blksweep node restore --discard` tries once more and forgets it)",
        holder_text(journal.owner));
    return tl::unexpected(std::move(error));
  }
  return {};
}

// Another process holds it, or held it until it died.
bool is_of_another(const Journal& journal, const std::string& key) {
  const Result<ProcessId> own = own_id();
  const bool ours = own && same_process(journal.owner.id, *own);
  return !journal.owner.kept && !ours && holds(journal, key);
}

// Nobody else that lives may hold the key; what the dead left behind of it is undone first.
Result<> claim(const std::string& key, const BorrowingPlaces& places, const JournalFolder& folder) {
  BLKSWEEP_TRY(std::vector<FoundJournal> all, folder.read_all());
  for (FoundJournal& found : all) {
    if (!found.journal) {
      return tl::unexpected(found.journal.error());
    }
    if (!is_of_another(*found.journal, key)) {
      continue;
    }
    const JournalOwner& owner = found.journal->owner;
    if (is_alive(owner.id)) {
      return fail(fmt::format("{} is borrowed by {}: wait until it has ended, or end it", key,
                              holder_text(owner)));
    }
    BLKSWEEP_CHECK(put_back(*found.journal, places, folder));
  }
  return {};
}

bool is_left_behind(const FoundJournal& found, const std::string& key) {
  return found.journal && is_of_another(*found.journal, key) && !is_alive(found.journal->owner.id);
}

}  // namespace

struct Borrowing::State {
  BorrowingPlaces places;
  JournalOwner owner;
  Fd changes;                          // of kept ones: nobody restores what is being changed
  std::vector<JournalRecord> records;  // ours, the oldest first; also when the file has vanished

  Result<> note_change(const JournalRecord& record, const SavedValue& reads) const;
  Result<> undo_from(std::size_t begin);  // and everything newer
};

Result<> Borrowing::State::note_change(const JournalRecord& record, const SavedValue& reads) const {
  BLKSWEEP_TRY(const JournalFolder folder, JournalFolder::lock(places.run_folder));
  BLKSWEEP_TRY(Journal journal, folder.read(owner));
  if (same_record(journal, record) == nullptr) {
    return {};
  }
  return folder.append(journal, changed_line(record.number, reads), false);
}

Borrowing::Borrowing(std::unique_ptr<State> state) : state_(std::move(state)) {}
Borrowing::Borrowing(Borrowing&&) noexcept = default;

Borrowing::~Borrowing() {
  // A forked child has no loans: they are its parent's.
  if (!state_ || state_->owner.kept || state_->owner.id.pid != ::getpid()) {
    return;
  }
  if (const auto restored = restore(); !restored) {
    warn(restored.error().message() + ": `blksweep node restore` tries again");
  }
}

Result<Borrowing> Borrowing::begin(bool kept, BorrowingPlaces places) {
  auto state = std::make_unique<State>();
  state->places = std::move(places);
  BLKSWEEP_TRY(const ProcessId own, own_id());
  state->owner = {.id = own, .command = own_command(), .kept = kept};
  return Borrowing(std::move(state));
}

Result<> Borrowing::add(const Loan& loan) {
  return add(loan.key, [&loan] { return Result<Loan>(loan); });
}

Result<> Borrowing::add(const std::string& key, const std::function<Result<Loan>()>& make) {
  Fd changes;
  if (!state_->changes) {
    BLKSWEEP_TRY(changes, lock_changes(state_->places.run_folder));
  }
  BLKSWEEP_TRY(const JournalFolder folder, JournalFolder::lock(state_->places.run_folder));
  BLKSWEEP_CHECK(claim(key, state_->places, folder));
  BLKSWEEP_TRY(Loan loan, make());
  BLKSWEEP_CHECK(check_loan(loan, state_->places.permitted));
  BLKSWEEP_TRY(Journal journal, folder.read(state_->owner));
  const std::size_t number = journal.records.size() + 1;
  at_step(state_->places, "before append");
  owe();
  BLKSWEEP_CHECK(folder.append(journal, loan_line(number, loan), true));
  at_step(state_->places, "after append");
  state_->records.push_back({.number = number, .loan = std::move(loan), .changed = {}});
  if (state_->owner.kept && changes) {
    state_->changes = std::move(changes);
  }
  return {};
}

void Borrowing::changed(const SavedValue& reads) {
  if (state_->records.empty()) {
    return;
  }
  JournalRecord& newest = state_->records.back();
  newest.changed.push_back(reads);
  if (const auto noted = state_->note_change(newest, reads); !noted) {
    detail(noted.error().message());
  }
}

Result<std::string> Borrowing::set(const std::string& key, const SavedValue& wanted) {
  BLKSWEEP_CHECK(add(key, [&]() -> Result<Loan> {
    BLKSWEEP_TRY(std::string before, read_setting(wanted.path));
    return Loan{.key = key, .what = wanted.path, .values = {{wanted.path, std::move(before)}}};
  }));
  at_step(state_->places, "before change");
  const Result<> written = write_setting(wanted.path, wanted.value);
  at_step(state_->places, "after change");
  Result<std::string> got = read_setting(wanted.path);
  if (!written || !got) {
    BLKSWEEP_CHECK(take_back());
    return tl::unexpected(written ? got.error() : written.error());
  }
  changed({wanted.path, *got});
  return got;
}

// From memory when the file was removed or cannot be trusted any more.
Result<> Borrowing::State::undo_from(std::size_t begin) {
  BLKSWEEP_TRY(const JournalFolder folder, JournalFolder::lock(places.run_folder));
  const UndoPlan plan{.places = places, .folder = folder};
  Result<Journal> found = folder.read(owner);
  Journal nowhere;
  Undoing out;
  for (std::size_t i = records.size(); i-- > begin;) {
    JournalRecord* in_file = found ? same_record(*found, records[i]) : nullptr;
    if (in_file == nullptr) {
      undo_one(plan, nowhere, records[i], out);
    } else {
      undo_one(plan, *found, *in_file, out);
      records[i].undone = in_file->undone;
    }
  }
  std::erase_if(records, [](const JournalRecord& r) { return r.undone; });
  if (found) {
    remove_if_done(plan, *found, out);
  } else {
    out.failed.push_back(found.error());
  }
  return out.failed.empty() ? Result<>() : tl::unexpected(out.failed.front());
}

Result<> put_back_left_behind(const std::string& key, const BorrowingPlaces& places) {
  const auto left = [&key](const FoundJournal& found) { return is_left_behind(found, key); };
  BLKSWEEP_TRY(const std::vector<FoundJournal> seen, look_at_journals(places.run_folder));
  if (std::ranges::none_of(seen, left)) {
    return {};
  }
  BLKSWEEP_TRY(const JournalFolder folder, JournalFolder::lock(places.run_folder));
  BLKSWEEP_TRY(std::vector<FoundJournal> all, folder.read_all());
  for (FoundJournal& found : all) {
    if (left(found)) {
      BLKSWEEP_CHECK(put_back(*found.journal, places, folder));
    }
  }
  return {};
}

Result<std::vector<std::string>> restore_own(const BorrowingPlaces& places) {
  BLKSWEEP_TRY(const JournalFolder folder, JournalFolder::lock(places.run_folder));
  BLKSWEEP_TRY(const ProcessId own, own_id());
  BLKSWEEP_TRY(Journal journal, folder.read({.id = own, .command = own_command()}));
  Undoing undone = undo_journal({.places = places, .folder = folder}, journal);
  if (!undone.failed.empty()) {
    return tl::unexpected(undone.failed.front());
  }
  return std::move(undone.done);
}

Result<> Borrowing::take_back() {
  return state_->records.empty() ? Result<>() : state_->undo_from(state_->records.size() - 1);
}

Result<> Borrowing::restore() {
  return state_->records.empty() ? Result<>() : state_->undo_from(0);
}

}  // namespace blksweep
