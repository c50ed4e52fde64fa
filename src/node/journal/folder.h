// The folder of the journals, locked: claims are read and written in one step.
//
// Rights:  /run/blksweep/journal is of this user alone (0700) and no link; a journal is a plain
//          file with one name that nobody else may write to. Anything else is refused.
// Lock:    one flock on the folder while an object lives, for some milliseconds; a lock that is not
//          had within ten seconds is an error.
// Errors:  read_all() gives an Error in the place of each journal that cannot be trusted, and one
//          for all where the folder cannot be read.
// Threads: one owner.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "node/journal/journal.h"

namespace blksweep {

struct FoundJournal {
  std::string path;
  Result<Journal> journal;
};

class JournalFolder {
 public:
  // Makes the folder. Exit::unsupported where `run_folder` may not be written to (no root).
  static Result<JournalFolder> lock(const std::string& run_folder);

  Result<std::vector<FoundJournal>> read_all() const;  // by name
  // The journal of `owner`; one without records when there is none yet.
  Result<Journal> read(const JournalOwner& owner) const;
  // Adds a line, with the first line when the file is new, and cuts off a torn one before it. On
  // disk (fsync) when it returns with `durable`; an Error leaves the file as it was.
  Result<> append(Journal& journal, const std::string& line, bool durable) const;
  Result<> remove(const std::string& name) const;

 private:
  JournalFolder(std::string path, Fd fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  std::string path_;
  Fd fd_;
};

// A second lock around the first, for what takes more than one step: `node set` holds it from its
// first loan until it has made its changes; nobody borrows or restores in between.
Result<Fd> lock_changes(const std::string& run_folder);

// Without making or locking anything, for showing. Empty when there is no folder.
Result<std::vector<FoundJournal>> look_at_journals(const std::string& run_folder = "/run");

std::string boot_id();

}  // namespace blksweep
