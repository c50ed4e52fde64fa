// SIGINT, SIGTERM and SIGHUP become a flag that long work looks at.
//
// The first signal asks for an orderly end (finish what is in flight, keep results, restore state);
// a second one kills at once with the default action. SIGHUP that was ignored at the start (nohup)
// stays ignored.
// Threads: install once, from main; the flag may be read anywhere.
#pragma once

#include <atomic>

namespace blksweep {

void install_stop_signals();
const std::atomic<bool>& stop_requested();

}  // namespace blksweep
