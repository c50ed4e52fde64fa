// The journal's text: what one process has borrowed, a line for each event.
//
// Format:  docs/node.md "The journal". A line is the XXH3-64 of its JSON (16 hex digits), a blank,
//          the JSON, a line end. The first one names boot, process and command.
// Errors:  parse_journal() takes any bytes and never crashes. A last line without its end is what a
//          kill leaves behind: it is no part of the journal (its change was never made). Anything
//          else that does not fit is an error which names the file, the line and the way out.
// Threads: pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "node/journal/loan.h"
#include "os/process/process_id.h"

namespace blksweep {

struct JournalOwner {
  ProcessId id;
  std::string command;  // as it was called
  bool kept = false;    // of `node set`: the loans outlive the process
};

struct JournalRecord {
  std::size_t number = 0;  // 1, 2, 3 ...
  Loan loan;
  std::vector<SavedValue> changed;  // what the files read after our change
  bool undone = false;
};

struct Journal {
  std::string name;  // of its file
  JournalOwner owner;
  std::vector<JournalRecord> records;
  std::size_t valid_bytes = 0;  // up to the end of the last whole line
};

inline constexpr const char* kKeptJournal = "kept";
// "PID-STARTTIME", or "kept".
std::string journal_name(const JournalOwner& owner);

std::string header_line(const JournalOwner& owner, const std::string& boot);
std::string loan_line(std::size_t number, const Loan& loan);
std::string changed_line(std::size_t number, const SavedValue& reads);
std::string undone_line(std::size_t number);

// `path` is the file's, for its name and for errors; `boot` is this boot.
Result<Journal> parse_journal(const std::string& path, std::string_view text,
                              const std::string& boot);

}  // namespace blksweep
