#include "trace/import/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>

#include "base/text.h"

namespace blksweep {
namespace {

constexpr std::string_view kBlanks = " \t";
constexpr std::size_t kShown = 40;  // bytes of a bad field in a message
constexpr std::size_t kNanoDigits = 9;

std::string_view stripped(std::string_view s) {
  const std::size_t begin = s.find_first_not_of(kBlanks);
  return begin == std::string_view::npos ? std::string_view()
                                         : s.substr(begin, s.find_last_not_of(kBlanks) - begin + 1);
}

bool same_word(std::string_view word, std::string_view lower) {
  return std::ranges::equal(word, lower, {}, [](unsigned char c) { return std::tolower(c); });
}

}  // namespace

void split_at(std::string_view line, char separator, std::vector<std::string_view>& fields) {
  fields.clear();
  for (std::size_t at = 0;;) {
    const std::size_t end = line.find(separator, at);
    fields.push_back(stripped(line.substr(at, end - at)));
    if (end == std::string_view::npos) {
      return;
    }
    at = end + 1;
  }
}

void split_at_blanks(std::string_view line, std::vector<std::string_view>& fields) {
  fields.clear();
  for (std::size_t at = line.find_first_not_of(kBlanks); at != std::string_view::npos;) {
    const std::size_t end = line.find_first_of(kBlanks, at);
    fields.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(kBlanks, end);
  }
}

std::optional<std::uint64_t> scaled(std::string_view text, std::uint64_t unit) {
  const auto n = number<std::uint64_t>(text);
  std::uint64_t product = 0;
  return !n || __builtin_mul_overflow(*n, unit, &product) || product > INT64_MAX
             ? std::nullopt
             : std::optional(product);
}

std::optional<std::int64_t> decimal_ns(std::string_view text, std::int64_t unit_ns) {
  const std::size_t point = text.find('.');
  const auto whole = scaled(text.substr(0, point), static_cast<std::uint64_t>(unit_ns));
  if (!whole || point == std::string_view::npos) {
    return whole ? std::optional(static_cast<std::int64_t>(*whole)) : std::nullopt;
  }
  const std::string_view digits = text.substr(point + 1);
  const auto part = number<std::uint64_t>(digits);
  if (!part || digits.size() > kNanoDigits) {
    return std::nullopt;
  }
  std::uint64_t power = 1;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    power *= 10;
  }
  const std::uint64_t ns = *whole + *part * static_cast<std::uint64_t>(unit_ns) / power;
  return ns > INT64_MAX ? std::nullopt : std::optional(static_cast<std::int64_t>(ns));
}

std::optional<bool> is_read(std::string_view word) {
  if (same_word(word, "r") || same_word(word, "read")) {
    return true;
  }
  return same_word(word, "w") || same_word(word, "write") ? std::optional(false) : std::nullopt;
}

std::optional<bool> is_read_call(std::string_view name) {
  constexpr std::string_view kForms[] = {"", "64", "v", "v2", "v64", "64v2", "v64v2", "_unlocked"};
  name.remove_prefix(name.starts_with('p') || name.starts_with('f') ? 1 : 0);
  const bool reads = name.starts_with("read");
  if (!reads && !name.starts_with("write")) {
    return std::nullopt;
  }
  name.remove_prefix(std::string_view(reads ? "read" : "write").size());
  return std::ranges::find(kForms, name) != std::end(kForms) ? std::optional(reads) : std::nullopt;
}

tl::unexpected<Error> bad_field(const char* what, std::string_view text) {
  return fail(fmt::format("\"{}\" is no {}", printable(text.substr(0, kShown)), what));
}

}  // namespace blksweep
