// Copies out of a mapping of a file, and lives on where the kernel has no page for it: the file was
// cut off, or its disk failed (SIGBUS).
//
// Effects: while a MappedCopies lives this process has a handler of SIGBUS; a signal that no copy
//          of ours has caused goes to the handler that was there before. The last one to go puts
//          it back.
// Threads: any; each catches its own.
// Source:  mmap(2), "SIGBUS"; sigaction(2).
#pragma once

#include <cstddef>

namespace blksweep {

class MappedCopies {
 public:
  MappedCopies();
  ~MappedCopies();
  MappedCopies(const MappedCopies&) = delete;
  MappedCopies& operator=(const MappedCopies&) = delete;

  // False: a page could not be had; `to` then holds anything.
  static bool copy(void* to, const void* from, std::size_t bytes);
};

}  // namespace blksweep
