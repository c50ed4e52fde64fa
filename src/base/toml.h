// TOML texts that a user may have broken in any way: parse_toml never crashes.
//
// Errors:  usage errors in one line, with file and line.
// Source:  toml++ 3.3 (Debian libtomlplusplus-dev), with two of its defects kept out: it asserts on
//          some malformed input, such as [1,}, so its assertions become exceptions that parse_toml
//          catches; and it runs into undefined behaviour on some letters beyond ASCII (found by
//          fuzzing: its is_non_ascii_horizontal_whitespace), so only comments may hold them.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "base/result.h"

namespace blksweep::toml_detail {
[[noreturn]] inline void malformed_toml() { throw std::logic_error("malformed TOML"); }
}  // namespace blksweep::toml_detail

#undef NDEBUG
#define TOML_EXCEPTIONS 1
#define TOML_HEADER_ONLY 0  // compiled once, in toml.cpp
#define TOML_ASSERT(expr) ((expr) ? void() : blksweep::toml_detail::malformed_toml())
#include <toml++/toml.h>

namespace blksweep {

// `name` is the file's, for errors.
Result<toml::table> parse_toml(std::string_view text, const std::string& name);
// "name:line".
std::string toml_place(const std::string& name, const toml::source_region& at);

}  // namespace blksweep
