// However this process ends, but by SIGKILL, what it has borrowed on the node is given back.
//
// An orderly end unwinds. Where that is out of reach (a second signal, a crash, an exception in a
// thread, a signal that nobody handles), the program is executed anew in place of itself, which
// needs neither memory of the old one nor another process: `blksweep node restore --after SIGNAL`
// undoes the journal of this pid and then ends as the signal would have.
//
// Signals: SIGPIPE and SIGXFSZ are ignored: the write fails instead, and is an error like others.
//          Signals that somebody else handles or ignores (sanitizers, nohup) stay theirs.
//          From the first word of the end on, all others wait until everything is given back.
// Errors:  when it cannot be executed, a line names the command that gives back.
// Threads: install once, from main, before any thread; owe() and end_now() anywhere, end_now() also
//          in a signal handler. The handler has a stack of its own in the thread that installed:
//          one that runs out elsewhere ends the process before anything is given back.
#pragma once

#include <sys/types.h>

namespace blksweep {

void install_fatal_end();

// From now on there is something to be given back.
void owe();
// In a child by fork: what its parent has borrowed is the parent's to give back.
void owe_nothing();

// The process group that is killed first, such as a peer's with all that did not leave it; 0: none.
void take_along(pid_t group);

// `number` 0: exit status 1.
[[noreturn]] void end_now(int number);

// Ends as that signal does by default, or with status 1.
[[noreturn]] void end_as(int number);

}  // namespace blksweep
