// Fd owns one file descriptor; closing errors of read-only descriptors are ignored.
//
// Ownership: move-only. release() hands the descriptor over.
// Errors:    for a file that was written, call close() and look at its result.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "base/result.h"

namespace blksweep {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
  Fd& operator=(Fd&& o) noexcept {
    reset(std::exchange(o.fd_, -1));
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }

  explicit operator bool() const { return fd_ >= 0; }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  void reset(int fd = -1) {
    if (fd_ >= 0) {
      ::close(fd_);
    }
    fd_ = fd;
  }
  // For written files: reports what close(2) reports. Ownership ends before the call.
  Result<> close(const std::string& name) {
    if (const int fd = release(); ::close(fd) != 0) {
      return sys_error(errno, "close " + name);
    }
    return {};
  }

 private:
  int fd_ = -1;
};

}  // namespace blksweep
