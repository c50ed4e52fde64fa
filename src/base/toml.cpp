#define TOML_IMPLEMENTATION
#include "base/toml.h"

#include <fmt/format.h>

#include "base/text.h"

namespace blksweep {
namespace {

// A string can escape its letters. Lenient about comments only where it is certain to be in one:
// not in a text with multi-line strings.
Result<> refuse_bare_letters(std::string_view text, const std::string& name) {
  const bool multi_line = text.find("\"\"\"") != text.npos || text.find("'''") != text.npos;
  char quote = '\0';
  bool comment = false, escaped = false;
  std::size_t line = 1;
  for (const char c : text) {
    line += c == '\n' ? 1U : 0U;
    if (static_cast<unsigned char>(c) >= 0x80 && (multi_line || !comment)) {
      return usage_error(
          fmt::format("{}:{}: a letter beyond ASCII outside a comment (in a string write \\u00e9)",
                      name, line));
    }
    if (comment) {
      comment = c != '\n';
    } else if (quote != '\0') {
      quote = c == quote && !escaped ? '\0' : quote;
      escaped = c == '\\' && quote == '"' && !escaped;
    } else {
      comment = c == '#';
      quote = c == '"' || c == '\'' ? c : quote;
    }
  }
  return {};
}

// The parser descends once for each part of a dotted name.
Result<> refuse_deep_names(std::string_view text, const std::string& name) {
  constexpr std::size_t kMostDots = 64;
  std::size_t dots = 0, line = 1;
  for (const char c : text) {
    line += c == '\n' ? 1 : 0;
    dots = std::string_view("=,[]{}\n").find(c) != std::string_view::npos ? 0 : dots;
    dots += c == '.' ? 1 : 0;
    if (dots > kMostDots) {
      return usage_error(
          fmt::format("{}:{}: more than {} dots in one name", name, line, kMostDots));
    }
  }
  return {};
}

}  // namespace

std::string toml_place(const std::string& name, const toml::source_region& at) {
  return fmt::format("{}:{}", name, at.begin.line);
}

Result<toml::table> parse_toml(std::string_view text, const std::string& name) {
  BLKSWEEP_CHECK(refuse_bare_letters(text, name));
  BLKSWEEP_CHECK(refuse_deep_names(text, name));
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& e) {
    return usage_error(fmt::format("{}: {}", toml_place(name, e.source()),
                                   one_line(std::string(e.description()))));
  } catch (const std::logic_error& e) {
    return usage_error(fmt::format("{}: {}", name, e.what()));
  }
}

}  // namespace blksweep
