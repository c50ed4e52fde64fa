// Words of an enum that has a to_string: found in a list of them, or named in an error.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace blksweep {

template <class Word, std::size_t N>
std::optional<Word> find_word(std::string_view text, const std::array<Word, N>& all) {
  for (const Word one : all) {
    if (to_string(one) == text) {
      return one;
    }
  }
  return std::nullopt;
}

// "sample, batch, copy"
template <class Word, std::size_t N>
std::string list_words(const std::array<Word, N>& all) {
  std::string known;
  for (const Word one : all) {
    known += known.empty() ? "" : ", ";
    known += to_string(one);
  }
  return known;
}

}  // namespace blksweep
