// stderr is the conversation: warnings, notes and progress. stdout is never touched here. Names of
// others in a line are shown, never acted on (base/text.h printable).
//
// Threads: any thread; a line is written with one write(2).
#pragma once

#include <string_view>

namespace blksweep {

enum class Verbosity { quiet, normal, verbose };
void set_verbosity(Verbosity v);
bool is_quiet();  // lines about work in progress are not shown either

// "blksweep: warning: ..." : a fact and its consequence for the result. Shown unless quiet.
void warn(std::string_view text);
// "blksweep: ..." : a note. Shown unless quiet.
void note(std::string_view text);
// Shown with -v only.
void detail(std::string_view text);

}  // namespace blksweep
