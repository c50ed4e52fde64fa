#include "cli/run/spec.h"

#include <fmt/format.h>

#include "base/toml.h"
#include "cli/command.h"
#include "cli/run/spec_rig.h"
#include "cli/run/spec_text.h"
#include "os/file/open_regular.h"
#include "os/file/trust.h"

namespace blksweep {
namespace {

constexpr std::size_t kLongestSpec = std::size_t{1} << 20;

const std::vector<std::string> kTables{"[[cell]]", "[[disk]]", "[[data]]", "[limits]", "[matrix]"};

bool is_table_of_spec(std::string_view key, const toml::node& node) {
  return (node.is_array_of_tables() && (key == "cell" || key == "disk" || key == "data")) ||
         (node.is_table() && (key == "limits" || key == "matrix"));
}

enum class TableOf { all, cell };

Result<CellText> table_text(const toml::table& table, const std::string& name, TableOf what,
                            SpecPlaces& places) {
  CellText out;
  for (const auto& [key, node] : table) {
    if (what == TableOf::all && is_table_of_spec(key.str(), node)) {
      continue;
    }
    const std::string option(key.str());
    const SpecPlace& at =
        places[option] = {spec_place(name, key.source()), spec_place(name, node.source())};
    if (node.is_table() || node.is_array_of_tables()) {
      const std::string written =
          node.is_table() ? fmt::format("[{}]", option) : fmt::format("[[{}]]", option);
      return usage_error(fmt::format("{}: '{}' is no table of a spec{}", at.name, written,
                                     nearest_of(written, kTables)));
    }
    BLKSWEEP_TRY(out[option], values_of(node, at.value + ": " + option));
  }
  return out;
}

// [limits] memory is the option memory-limit of every cell, and so on.
Result<> take_limits(const toml::table& root, const std::string& name, Spec& spec) {
  const auto* limits = root["limits"].as_table();
  if (limits == nullptr) {
    return {};
  }
  BLKSWEEP_CHECK(refuse_unknown_keys(*limits, name, "[limits]", {"memory", "bandwidth", "iops"}));
  for (const auto& [key, node] : *limits) {
    const std::string option = std::string(key.str()) + "-limit";
    const SpecPlace at{spec_place(name, key.source()), spec_place(name, node.source())};
    if (!spec.top_places.try_emplace(option, at).second) {
      return usage_error(fmt::format("{}: {} is said above, too: say it once", at.name, option));
    }
    BLKSWEEP_TRY(spec.top[option], values_of(node, at.value + ": " + option));
  }
  return {};
}

}  // namespace

Result<Spec> parse_spec(std::string_view text, const std::string& name) {
  BLKSWEEP_TRY(const toml::table root, parse_toml(text, name));
  Spec spec;
  BLKSWEEP_TRY(spec.top, table_text(root, name, TableOf::all, spec.top_places));
  BLKSWEEP_CHECK(take_limits(root, name, spec));
  BLKSWEEP_TRY(spec.rig, parse_rig(root, name));
  if (const auto* matrix = root["matrix"].as_table()) {
    BLKSWEEP_TRY(spec.matrix, parse_matrix(*matrix, name));
  }
  if (const auto* cells = root["cell"].as_array()) {
    for (const toml::node& cell : *cells) {
      if (const auto* table = cell.as_table()) {
        BLKSWEEP_TRY(spec.cells.emplace_back(),
                     table_text(*table, name, TableOf::cell, spec.cell_places.emplace_back()));
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

Result<> add_matrix_cells(Spec& spec, const CellText& site, const CellText& command_line) {
  if (spec.matrix.axes.empty()) {
    return {};
  }
  BLKSWEEP_TRY(std::vector<CellText> cells, combinations(spec.matrix, site, command_line));
  if (cells.empty() && spec.cells.empty()) {
    return usage_error("[matrix]: exclude leaves no cell");
  }
  spec.cell_places.resize(spec.cells.size());
  for (CellText& cell : cells) {
    spec.cells.push_back(std::move(cell));
    spec.cell_places.push_back(spec.matrix.places);
  }
  return {};
}

}  // namespace blksweep
