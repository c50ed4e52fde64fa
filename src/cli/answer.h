// stdout is the answer: what a verb found, and nothing else.
//
// Names of others (files, labels, processes) are shown, never acted on by the terminal
// (base/text.h). A failure to write is kept and told by finish_answer(): the exit status is then 1.
// Threads: the main thread.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/json.h"
#include "base/result.h"
#include "base/text.h"

namespace blksweep {

// Whole lines that we have put together: their line ends stay.
void say_text(std::string_view text);
void say_json(const Json& document);  // --json: one document

template <class T>
decltype(auto) shown(const T& value) {
  if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    return printable(value);
  } else {
    return (value);
  }
}

// As fmt::print; a line end inside of an argument is no line end.
template <class... Args>
void say(fmt::format_string<Args...> format, Args&&... args) {
  say_text(fmt::vformat(format, fmt::make_format_args(shown(args)...)));
}

// So that what was said is seen before other programs, or time, go on.
void flush_answer();
bool answer_lost();  // nobody reads on (a pipe's reader has ended), or the disk is full

// After the last of it.
Result<> finish_answer();

}  // namespace blksweep
