// Texts of others (parsers, programs, file names) in messages of ours.
#pragma once

#include <string>
#include <string_view>

namespace blksweep {

// For a terminal: control bytes, invalid UTF-8 and what turns the direction of a line become \xNN;
// everything else stays. `newlines`: those of our own tables stay, too.
std::string printable(std::string_view text, bool newlines = false);

// As one word of a shell's command line: as it is where it needs no quotes.
std::string shell_word(std::string_view text);

// As one field of CSV (RFC 4180): in quotes where it needs them.
std::string csv_field(std::string_view text);

// Without blanks and tabs around it.
std::string trimmed(std::string text);

// Control characters become blanks, those at the end go: an error is one line.
std::string one_line(std::string text);

}  // namespace blksweep
