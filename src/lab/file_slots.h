// FileSlots: a bounded cache of open files, so that no number of samples runs into RLIMIT_NOFILE.
//
// Slots are handed out round robin; a file that was opened longest ago makes room. Newly opened
// files are collected and given to the engine in one call per group (flush), because each
// registration is a system call.
//
// Ownership: owns descriptors only between open and flush; then the engine does.
// Errors:    slot_of returns -errno when the file cannot be opened: a failed sample, not a failed
// run. Threads:   the reader's thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "io/engine.h"
#include "plan/catalog.h"

namespace blksweep {

class FileSlots {
 public:
  // Slot 0 is the block device's; files use 1 .. slots-1.
  static Result<FileSlots> open(const Catalog& catalog, std::uint32_t slots, bool direct);

  Result<> use_device(Engine& engine, const std::string& node, bool direct);
  // The slot of an open file, opening it when needed; or -errno. A returned slot stays valid for
  // at least slots()-2 further files.
  int slot_of(std::uint32_t file);
  // Gives what was opened since the last flush to the engine. Call before submitting.
  Result<> flush(Engine& engine);

  // Slots that `wanted` files can have under RLIMIT_NOFILE.
  static std::uint32_t affordable(std::size_t wanted, unsigned depth);

 private:
  FileSlots(const Catalog& catalog, std::uint32_t slots, bool direct);
  int open_file(std::uint32_t file);

  const Catalog* catalog_;
  int flags_;
  Fd root_;
  std::vector<std::uint32_t> slot_of_file_;
  std::vector<std::uint32_t> file_in_slot_;
  std::uint32_t hand_ = 1;           // next slot to fill
  std::uint32_t pending_first_ = 1;  // slot of pending_[0]
  std::vector<Fd> pending_;
  std::string path_;  // scratch
};

}  // namespace blksweep
