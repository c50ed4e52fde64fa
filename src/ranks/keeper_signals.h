// KeeperSignals: what a keeper hears: that its child has ended (SIGCHLD), and that it is told to
// end itself (SIGTERM, SIGINT, SIGHUP).
//
// Errors:  signalfd(2), by take().
// Threads: blocks these signals in the calling thread: before any other is started.
#pragma once

#include <signal.h>

#include "base/fd.h"
#include "base/result.h"

namespace blksweep {

class KeeperSignals {
 public:
  static Result<KeeperSignals> take();

  int fd() const { return fd_.get(); }
  // Once it was, it stays so.
  bool told_to_end();
  // The same, and waits for it.
  bool told_within(int ms);
  // In the child: signals as they were before take().
  void give_back();

 private:
  Fd fd_;
  sigset_t before_{};
  bool told_ = false;
};

}  // namespace blksweep
