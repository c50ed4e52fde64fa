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

// Texts or whole numbers with `between` them. fmt::join costs a second of compiling in each set.
template <class Range>
std::string joined(const Range& range, std::string_view between) {
  std::string all;
  for (std::string_view before; const auto& one : range) {
    all.append(before);
    if constexpr (requires { std::to_string(one); }) {
      all.append(std::to_string(one));
    } else {
      all.append(one);
    }
    before = between;
  }
  return all;
}

// Without blanks and tabs around it.
std::string trimmed(std::string text);

// Control characters become blanks, those at the end go: an error is one line.
std::string one_line(std::string text);

}  // namespace blksweep
