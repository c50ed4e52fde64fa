#include "cli/run/spec.h"

#include <fmt/format.h>

#include "base/toml.h"
#include "os/open_regular.h"
#include "os/trust.h"

namespace blksweep {
namespace {

constexpr std::size_t kLongestSpec = std::size_t{1} << 20;

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

std::string place(const std::string& name, const toml::source_region& at) {
  return fmt::format("{}:{}", toml_place(name, at), at.begin.column);
}

Result<CellText> table_text(const toml::table& table, const std::string& name, SpecPlaces& places) {
  CellText out;
  for (const auto& [key, node] : table) {
    if (key.str() == "cell" && node.is_array_of_tables()) {
      continue;
    }
    const std::string option(key.str());
    const SpecPlace& at = places[option] = {place(name, key.source()), place(name, node.source())};
    BLKSWEEP_TRY(out[option], values_of(node, at.value + ": " + option));
  }
  return out;
}

}  // namespace

Result<Spec> parse_spec(std::string_view text, const std::string& name) {
  BLKSWEEP_TRY(const toml::table root, parse_toml(text, name));
  Spec spec;
  BLKSWEEP_TRY(spec.top, table_text(root, name, spec.top_places));
  if (const auto* cells = root["cell"].as_array()) {
    for (const toml::node& cell : *cells) {
      if (const auto* table = cell.as_table()) {
        BLKSWEEP_TRY(spec.cells.emplace_back(),
                     table_text(*table, name, spec.cell_places.emplace_back()));
      }
    }
  }
  return spec;
}

Result<Spec> load_spec(const std::string& path) {
  uid_t owner = 0;
  BLKSWEEP_TRY(const std::string text, read_regular(path, kLongestSpec, &owner));
  BLKSWEEP_TRY(Spec spec, parse_spec(text, path));
  spec.text = text;
  spec.of_stranger = is_real_root() && !trusted_owner(owner);
  return spec;
}

}  // namespace blksweep
