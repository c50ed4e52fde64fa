#include "cli/policy_words.h"

#include <fmt/format.h>

#include <algorithm>

namespace blksweep {
namespace {

// The enums count up from 0; `last` closes the list of words.
template <class E>
Result<E> parse_word(std::string_view text, E last) {
  std::string known;
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    const std::string_view word = to_string(static_cast<E>(i));
    if (word == text) {
      return static_cast<E>(i);
    }
    known += fmt::format("{}{}", i == 0 ? "" : ", ", word);
  }
  return usage_error(fmt::format("'{}' is not one of {}", text, known));
}

template <class E>
Result<std::vector<E>> parse_list(std::string_view text, E last) {
  std::vector<E> out;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    BLKSWEEP_TRY(const E value, parse_word(text.substr(begin, comma - begin), last));
    out.push_back(value);
    begin = comma + 1;
  }
  return out;
}

}  // namespace

Result<std::vector<Order>> parse_orders(std::string_view text) {
  return parse_list(text, Order::chunked);
}
Result<std::vector<Merge>> parse_merges(std::string_view text) {
  return parse_list(text, Merge::device);
}
Result<Shuffle> parse_shuffle(std::string_view text) { return parse_word(text, Shuffle::full); }

}  // namespace blksweep
