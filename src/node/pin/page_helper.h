// PageHelper: a forked process that keeps files locked, where one process may not have as many
// mappings.
//
// Life:     ends with the process that made it, however that ends: it waits on a pipe whose other
//           end only that process has (and is killed with it while it still locks).
// Signals:  all blocked; what a terminal sends is the owner's to answer.
// Memory:   a fork: shares the owner's pages until the owner writes to them. Buffers that are
//           handed to devices are not shared (PageBuffer).
// Threads:  made by the owner's thread; other threads of the owner may run.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "node/pin/pin.h"

namespace blksweep {

class PageHelper {
 public:
  // The share [begin, end) of `files`.
  static Result<PageHelper> start(const PinFiles& files, std::size_t begin, std::size_t end);
  PageHelper(PageHelper&& o) noexcept;
  PageHelper& operator=(PageHelper&&) = delete;
  ~PageHelper();  // killed and reaped

  std::uint64_t done() const;
  bool lives() const;
  // Once it is through with its share, or ended before: errors as PagePin::take.
  std::optional<Result<PinCount>> result(const PinFiles& files);

  struct Board;  // in memory that both processes see

 private:
  PageHelper() = default;
  pid_t pid_ = 0;
  std::size_t begin_ = 0;
  Fd lifeline_;
  Board* board_ = nullptr;
};

// What mlock(2) said, with the limit that it ran into.
tl::unexpected<Error> lock_error(int error, const std::string& path);
// Ends pinning as a whole, in contrast to what concerns one file.
inline bool is_out_of_memory(int error) {
  return error == ENOMEM || error == EAGAIN || error == EPERM || error == EINTR;
}

}  // namespace blksweep
