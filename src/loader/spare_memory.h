// SpareMemory: the buffer of an epoch that is over, for the next one of the same data.
//
// Why:     each page of a new buffer is cleared, and in a virtual machine fetched from the host:
//          100 MiB took 10 to 150 ms, before the first sample of every loop.
// Keeps:   one buffer, which is given again where it is large enough and not over four times too
//          large. What it held is still in it.
// Threads: any. A forked process does not have the buffer's pages, and gets new ones.
#pragma once

#include <unistd.h>

#include <mutex>

#include "base/memory.h"

namespace blksweep {

class SpareMemory {
 public:
  SpareMemory() = default;
  SpareMemory(const SpareMemory&) = delete;
  SpareMemory& operator=(const SpareMemory&) = delete;
  ~SpareMemory();

  Result<PageBuffer> take(Bytes size);
  void keep(PageBuffer memory);

 private:
  PageBuffer reclaim();

  std::mutex mutex_;
  PageBuffer kept_;
  pid_t owner_ = 0;  // the process whose pages they are
};

}  // namespace blksweep
