#include "cli/spec.h"

#include <fmt/format.h>

#include <stdexcept>

// toml++ 3.3 asserts on some malformed input, such as [1,}: its assertions become exceptions, which
// are caught here as its parse errors are (seeds in tests/fuzz/seeds/spec).
[[noreturn]] static void malformed_toml() { throw std::logic_error("malformed TOML"); }
#undef NDEBUG
#define TOML_EXCEPTIONS 1
#define TOML_ASSERT(expr) ((expr) ? void() : malformed_toml())
#include <toml++/toml.h>

#include <cerrno>
#include <fstream>
#include <sstream>

namespace blksweep {
namespace {

std::string where(const std::string& name, const toml::source_region& at) {
  return fmt::format("{}:{}", name, at.begin.line);
}

Result<std::string> scalar_text(const toml::node& node, const std::string& at) {
  if (const auto* s = node.as_string()) {
    return s->get();
  }
  if (const auto* i = node.as_integer()) {
    return std::to_string(i->get());
  }
  if (const auto* b = node.as_boolean()) {
    return std::string(b->get() ? "true" : "false");
  }
  return usage_error(at + ": expected a string, a whole number, true or false, or a list of them");
}

Result<std::vector<std::string>> values_of(const toml::node& node, const std::string& at) {
  std::vector<std::string> out;
  if (const auto* list = node.as_array()) {
    for (const toml::node& item : *list) {
      BLKSWEEP_TRY(out.emplace_back(), scalar_text(item, at));
    }
    return out;
  }
  BLKSWEEP_TRY(std::string text, scalar_text(node, at));
  // Text lists commas as the command line does.
  return node.is_string() ? split_list(text) : std::vector{std::move(text)};
}

Result<CellText> table_text(const toml::table& table, const std::string& name) {
  CellText out;
  for (const auto& [key, node] : table) {
    if (key.str() == "cell" && node.is_array_of_tables()) {
      continue;
    }
    const std::string at = where(name, node.source()) + ": " + std::string(key.str());
    BLKSWEEP_TRY(out[std::string(key.str())], values_of(node, at));
  }
  return out;
}

Result<toml::table> parse_toml(std::string_view text, const std::string& name) {
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& e) {
    return usage_error(fmt::format("{}: {}", where(name, e.source()), e.description()));
  } catch (const std::logic_error& e) {
    return usage_error(fmt::format("{}: {}", name, e.what()));
  }
}

// toml++ 3.3.0 runs into undefined behaviour on some letters beyond ASCII (found by fuzzing: its
// is_non_ascii_horizontal_whitespace), so only comments may hold them; a string can escape them.
Result<> refuse_bare_letters(std::string_view text, const std::string& name) {
  char quote = '\0';
  bool comment = false;
  std::size_t line = 1;
  for (const char c : text) {
    line += c == '\n' ? 1U : 0U;
    if (comment) {
      comment = c != '\n';
    } else if (static_cast<unsigned char>(c) >= 0x80) {
      return usage_error(
          fmt::format("{}:{}: a letter beyond ASCII outside a comment (write \\u00e9, or give the "
                      "option on the "
                      "command line)",
                      name, line));
    } else if (quote != '\0') {
      quote = c == quote ? '\0' : quote;
    } else {
      comment = c == '#';
      quote = c == '"' || c == '\'' ? c : quote;
    }
  }
  return {};
}

}  // namespace

Result<Spec> parse_spec(std::string_view text, const std::string& name) {
  BLKSWEEP_CHECK(refuse_bare_letters(text, name));
  BLKSWEEP_TRY(const toml::table root, parse_toml(text, name));
  Spec spec;
  BLKSWEEP_TRY(spec.top, table_text(root, name));
  if (const auto* cells = root["cell"].as_array()) {
    for (const toml::node& cell : *cells) {
      if (const auto* table = cell.as_table()) {
        BLKSWEEP_TRY(spec.cells.emplace_back(), table_text(*table, name));
      }
    }
  }
  return spec;
}

Result<Spec> load_spec(const std::string& path) {
  std::ifstream in(path);
  if (!in) {
    return sys_error(errno, "open " + path);
  }
  std::ostringstream text;
  text << in.rdbuf();
  return parse_spec(text.str(), path);
}

}  // namespace blksweep
