#include "cli/run/spec_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/command.h"
#include "cli/run/cell_options.h"

namespace blksweep {

std::string spec_place(const std::string& file, const toml::source_region& at) {
  return fmt::format("{}:{}", toml_place(file, at), at.begin.column);
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
  return node.is_string() ? split_list(text) : std::vector{std::move(text)};
}

Result<> refuse_unknown_keys(const toml::table& table, const std::string& file,
                             const std::string& what, const std::vector<std::string>& known) {
  for (const auto& [key, node] : table) {
    if (std::ranges::find(known, key.str()) == known.end()) {
      return usage_error(fmt::format("{}: '{}' is no key of {}{}", spec_place(file, key.source()),
                                     key.str(), what, nearest_of(key.str(), known)));
    }
  }
  return {};
}

}  // namespace blksweep
