// FileSlots: the engine's file slots over a run: which read finds its file where.
//
// A bounded number of files is open at once (OpenPlan), so that no number of samples runs into
// RLIMIT_NOFILE. Newly opened files are collected and given to the engine in one call per group
// (flush), because each registration is a system call. Between two flushes no slot may change its
// file while a request of the group refers to it: ask must_flush_before() first.
//
// Ownership: owns descriptors between open and flush; then the engine does. What that gives back is
//            closed by the openers.
// Errors:    slot_of returns -errno when the file cannot be opened: a failed sample, not a failed
//            run. affordable() names RLIMIT_NOFILE when it leaves too few descriptors.
// Threads:   the reader's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "io/engine.h"
#include "loader/file_opener.h"
#include "loader/open_plan.h"

namespace blksweep {

struct FileSlotsSettings {
  std::uint32_t slots = 64;  // of the engine: the device's, one for retries, the rest for files
  bool direct = true;
  bool opens = true;  // else slots stay empty: an engine that reads nothing needs no file
  bool by_handle = false;
  unsigned openers = 1;         // threads that open ahead
  std::uint32_t ahead = 256;    // descriptors that wait with them
  std::uint32_t closing = 256;  // and to be closed
  std::uint32_t pending = 256;  // descriptors between two flushes
  PlaceThread place = {};       // of the openers
  // So few for `files` files that opening holds reads back.
  bool scarce(std::size_t files) const;
};

// What RLIMIT_NOFILE leaves now, beside what others need.
std::uint64_t descriptors_left();

class FileSlots {
 public:
  static Result<std::unique_ptr<FileSlots>> open(const Catalog& catalog, const Plan& plan,
                                                 const FileSlotsSettings& settings);

  // Each of them so often that it is worth registering it with a ring.
  bool read_often() const;
  Result<> use_device(Engine& engine, const std::string& node);
  void start() {
    if (opens_) {
      ahead_.start();
    }
  }
  // True: what slot_of gave since the last flush has to be submitted before slot_of(read).
  bool must_flush_before(std::uint32_t read) const;
  // The slot with the file of `read`, or -errno. Reads come in plan order; an earlier one may come
  // again (a retry, the rest of a short read).
  int slot_of(std::uint32_t read);
  // Gives what was opened since the last flush to the engine. Call before submitting.
  Result<> flush(Engine& engine);

  // How `files` files share the descriptors that are left: slots, ahead, closing and pending.
  static Result<FileSlotsSettings> affordable(std::size_t files,
                                              std::uint64_t left = descriptors_left());

 private:
  FileSlots(DataFiles data, OpenPlan plan, const FileSlotsSettings& settings);
  static constexpr std::uint32_t kUnused = 0xFFFFFFFF;
  bool closed_again(std::uint32_t open) const { return open + plan_.capacity < opened_; }
  int open_next(std::uint32_t open);
  int reopen(std::uint32_t open);

  DataFiles data_;
  bool opens_;
  int flags_;
  OpenPlan plan_;
  FileOpener ahead_;
  std::uint32_t retry_slot_;
  std::uint32_t most_pending_;
  std::uint32_t oldest_use_ = kUnused;  // lowest open that slot_of gave since the last flush
  std::uint32_t opened_ = 0;            // opens done so far
  std::vector<int> error_in_slot_;      // 0, or the errno of the file that belongs there
  std::vector<Fd> pending_;             // of consecutive opens, not with the engine yet
  std::uint32_t pending_first_ = 0;     // open number of pending_[0]
  Fd pending_retry_;
  std::string path_;  // scratch
};

}  // namespace blksweep
