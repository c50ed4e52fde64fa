// The hint engine: plain buffered reads, one at a time, in the order that they are asked for; a
// thread of its own tells the kernel ahead what will be read, in the order of the device. What a
// training loop can have that cannot be changed otherwise (docs/engines.md).
//
// Window:  at most EngineSettings::hint_window bytes are told ahead and not read yet. They are told
//          in halves of it, each sorted by address: the second while the first is read.
// Counts:  hinted_bytes.
// Without EngineSettings::upcoming it is psync.
// Threads: the one that tells begins with the first submit(), and ends with the engine.
// Source:  posix_fadvise(2) with POSIX_FADV_WILLNEED, readahead(2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/fd.h"
#include "io/engine.h"

namespace blksweep {

// The reads of a plan, as they will be submitted.
class UpcomingReads {
 public:
  struct Read {
    std::uint64_t address;  // on the device; what is not known sorts behind all others
    std::uint64_t offset;   // in the file
    std::uint32_t length;   // 0: nothing to tell
    std::uint32_t file;
  };
  virtual ~UpcomingReads() = default;
  virtual std::size_t size() const = 0;
  virtual Read at(std::size_t read) const = 0;
  // On the engine's thread; none: a file that cannot be opened is not told of.
  virtual Fd open(std::uint32_t file) = 0;
};

Result<std::unique_ptr<Engine>> make_hint_engine(const EngineSettings& settings);

}  // namespace blksweep
