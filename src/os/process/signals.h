// SIGINT, SIGTERM and SIGHUP become a flag that long work looks at.
//
// The first signal asks for an orderly end (finish what is in flight, keep results, restore state);
// a second one ends at once, giving back what was borrowed (os/process/fatal_end.h). SIGHUP that
// was ignored at the start (nohup) stays ignored.
//
// Threads: install once, from main; the flag may be read anywhere.
#pragma once

#include <signal.h>

#include <atomic>

namespace blksweep {

void install_stop_signals();
const std::atomic<bool>& stop_requested();
// How often this process was stopped (SIGSTOP, Ctrl-Z) and went on; its clocks went on meanwhile.
unsigned times_continued();

// Signals of the calling thread wait while this lives: around fork, so that none is lost or handled
// between it and what the child makes of itself. A child that never destroys it, or keep()s it,
// goes on with them blocked.
class BlockedSignals {
 public:
  BlockedSignals();  // all
  explicit BlockedSignals(const sigset_t& these);
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;
  ~BlockedSignals();  // errno stays
  void keep() { kept_ = true; }

 private:
  sigset_t before_{};
  bool kept_ = false;
};

}  // namespace blksweep
