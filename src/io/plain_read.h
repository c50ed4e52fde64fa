// One request by one system call, again where a signal cut it off.
//
// Threads: any; no state.
#pragma once

#include <sys/uio.h>

#include <cerrno>
#include <cstdint>

#include "io/engine.h"

namespace blksweep {

// Bytes, or -errno. `flags` as of preadv2(2).
inline std::int32_t plain_read(int fd, const ReadRequest& r, int flags = 0) {
  const auto call = r.write ? ::pwritev2 : ::preadv2;
  for (;;) {
    const ssize_t n =
        call(fd, r.iov, static_cast<int>(r.iov_count), static_cast<off_t>(r.offset), flags);
    if (n >= 0 || errno != EINTR) {
      return n >= 0 ? static_cast<std::int32_t>(n) : -errno;
    }
  }
}

// Of memory that a request asks for.
inline std::uint64_t bytes_of(const ReadRequest& r) {
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < r.iov_count; ++i) {
    bytes += r.iov[i].iov_len;
  }
  return bytes;
}

}  // namespace blksweep
