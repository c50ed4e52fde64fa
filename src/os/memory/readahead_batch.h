// Asks for several runs of bytes of several files to be read into the page cache in one go, so that
// runs that are neighbours on the device are merged into large requests.
//
// Why:     readahead(2) submits what it asks for at its end. madvise(2) keeps all that one call
//          asks for in the plug list of the block layer, and one call may span mappings of many
//          files laid side by side: neighbours merge there. No byte is copied and no page is
//          mapped.
// Errors:  none: it is a hint. A file that cannot be mapped (FUSE with direct I/O) is asked for
//          with readahead(2).
// Threads: one owner. The descriptors must stay open until submit() returns.
// Source:  mm/madvise.c (the plug around all of a call: commit 84d96d897671).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"

namespace blksweep {

class ReadAheadBatch {
 public:
  // Reserves address space for that much, and the pages at the edges of `runs` runs.
  static Result<ReadAheadBatch> make(std::size_t bytes, std::size_t runs);
  ReadAheadBatch(ReadAheadBatch&& o) noexcept;
  ReadAheadBatch& operator=(ReadAheadBatch&&) = delete;
  ~ReadAheadBatch();

  // REQUIRES: no more between two submit() than make() was told.
  void add(int fd, std::uint64_t offset, std::uint64_t length);
  void submit();

 private:
  ReadAheadBatch() = default;
  std::byte* region_ = nullptr;
  std::size_t size_ = 0, used_ = 0;
};

}  // namespace blksweep
