// Options of the engine: which one reads, past the page cache or through it, what it tells the
// kernel.
#include <fmt/format.h>

#include <array>
#include <vector>

#include "base/text.h"
#include "cli/run/cell_options.h"

namespace blksweep {
namespace {

constexpr std::array kAdvices{MapAdvice::normal, MapAdvice::random, MapAdvice::sequential,
                              MapAdvice::willneed};
constexpr std::array kHintCalls{HintCall::fadvise, HintCall::readahead};
constexpr std::uint64_t kMostHinted = std::uint64_t{1} << 40;

template <class Word, std::size_t N>
Result<> set_word_of(Word& target, std::string_view text, const std::array<Word, N>& all) {
  std::vector<std::string_view> names;
  for (const Word word : all) {
    if (to_string(word) == text) {
      target = word;
      return {};
    }
    names.push_back(to_string(word));
  }
  return usage_error(fmt::format("'{}' is not one of {}", text, joined(names, ", ")));
}

Result<> set_io(CellSettings& c, std::string_view text) {
  c.direct = text == "direct";
  return c.direct || text == "buffered"
             ? Result<>()
             : usage_error(fmt::format("'{}' is not one of direct, buffered", text));
}

Result<> set_hint_window(CellSettings& c, std::string_view text) {
  BLKSWEEP_TRY(c.hint_window, parse_bytes(text));
  return c.hint_window.n >= kPageBytes && c.hint_window.n <= kMostHinted
             ? Result<>()
             : usage_error(fmt::format("'{}' is not between {} and {}", text,
                                       format_bytes({kPageBytes}), format_bytes({kMostHinted})));
}

const std::array kEngineOptions{
    CellOption{
        "engine", "io_uring[-sqpoll -iopoll] libaio psync nowait mmap hint",
        [](CellSettings& c, std::string_view t) { return set_word_of(c.engine, t, kEngines); },
        [](const CellSettings& c) { return std::string(to_string(c.engine)); }},
    CellOption{
        "madvise", "",
        [](CellSettings& c, std::string_view t) { return set_word_of(c.madvise, t, kAdvices); },
        [](const CellSettings& c) { return std::string(to_string(c.madvise)); }},
    CellOption{
        "hint", "",
        [](CellSettings& c, std::string_view t) { return set_word_of(c.hint, t, kHintCalls); },
        [](const CellSettings& c) { return std::string(to_string(c.hint)); }},
    CellOption{"hint-window", "", set_hint_window,
               [](const CellSettings& c) { return bytes_word(c.hint_window); }},
    CellOption{"io", "direct buffered (--buffered); --madvise --hint --hint-window", set_io,
               [](const CellSettings& c) { return std::string(c.direct ? "direct" : "buffered"); }},
};

}  // namespace

std::span<const CellOption> engine_options() { return kEngineOptions; }

}  // namespace blksweep
