// Mapping and locking one file, for PagePin and for its helper processes.
//
// Forked:  between fork and exec of a process with threads nothing may allocate or take a lock:
//          these functions only make system calls.
// Errors:  errno values.
// Source:  mmap(2), mlock(2), readahead(2).
#pragma once

#include <cstddef>

namespace blksweep {

struct LockedFile {
  void* at = nullptr;  // null for an empty file
  std::size_t length = 0;
};

class StopLook {  // called between chunks: Ctrl-C does not wait for a large file
 public:
  virtual bool stop() = 0;

 protected:
  ~StopLook() = default;
};

// 0, or what failed: EINVAL when it is no regular file, EINTR when `look` said stop.
int lock_file(const char* path, StopLook& look, LockedFile& out);
void unlock_file(const LockedFile& file);
// Starts reading the beginning of a file that is locked soon. Only a hint.
void read_ahead(const char* path);

inline constexpr std::size_t kFilesAhead = 32;

}  // namespace blksweep
