#include "cli/run/matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "cli/command.h"
#include "cli/run/options.h"
#include "cli/run/spec_text.h"

namespace blksweep {
namespace {

constexpr std::size_t kMostCombinations = 10 * kMostCells;  // before some are excluded
constexpr std::string_view kExclude = "exclude", kTogether = "together";

class MatrixParser {
 public:
  explicit MatrixParser(const std::string& file) : file_(file) {}

  Result<Matrix> parse(const toml::table& table) {
    for (const auto& [key, node] : table) {
      if (key.str() != kExclude && key.str() != kTogether) {
        MatrixAxis axis;
        BLKSWEEP_CHECK(add_name(axis, key, node));
        matrix_.axes.push_back(std::move(axis));
      }
    }
    BLKSWEEP_CHECK(each_table(table, kTogether, [&](const toml::table& t) { return together(t); }));
    BLKSWEEP_CHECK(each_table(table, kExclude, [&](const toml::table& t) { return exclude(t); }));
    return std::move(matrix_);
  }

 private:
  template <class Use>
  Result<> each_table(const toml::table& table, std::string_view name, Use use) const {
    const toml::node* node = table.get(name);
    if (node == nullptr) {
      return {};
    }
    const auto* list = node->as_array();
    for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
      const auto* one = list->get(i)->as_table();
      if (one == nullptr || one->empty()) {
        return wrong(*node, fmt::format("{}: expected a list of tables, such as [{{ order = "
                                        "\"random\", merge = \"device\" }}]",
                                        name));
      }
      BLKSWEEP_CHECK(use(*one));
    }
    return list != nullptr ? Result<>()
                           : wrong(*node, fmt::format("{}: expected a list of tables", name));
  }

  Result<> wrong(const toml::node& node, const std::string& text) const {
    return usage_error(fmt::format("{}: [matrix] {}", spec_place(file_, node.source()), text));
  }

  Result<> add_name(MatrixAxis& axis, const toml::key& key, const toml::node& node) {
    const std::string name(key.str());
    const SpecPlace at{spec_place(file_, key.source()), spec_place(file_, node.source())};
    if (is_run_option(name)) {
      return usage_error(fmt::format("{}: '{}' is one for the whole run: write it above the tables",
                                     at.name, name));
    }
    if (!matrix_.places.try_emplace(name, at).second) {
      return usage_error(fmt::format("{}: [matrix] has '{}' twice", at.name, name));
    }
    axis.names.push_back(name);
    BLKSWEEP_TRY(axis.values.emplace_back(), values_of(node, at.value + ": " + name));
    return axis.values.back().empty() ? wrong(node, name + ": an empty list") : Result<>();
  }

  Result<> together(const toml::table& table) {
    MatrixAxis axis;
    for (const auto& [key, node] : table) {
      BLKSWEEP_CHECK(add_name(axis, key, node));
      if (axis.values.back().size() != axis.values.front().size()) {
        return wrong(node,
                     fmt::format("together: {} has {} values and {} has {}", axis.names[0],
                                 axis.values[0].size(), key.str(), axis.values.back().size()));
      }
    }
    matrix_.axes.push_back(std::move(axis));
    return {};
  }

  // What excludes nothing is a slip.
  Result<> exclude(const toml::table& table) {
    CellText wanted;
    for (const auto& [key, node] : table) {
      const std::string name(key.str());
      const std::string at = spec_place(file_, node.source());
      BLKSWEEP_TRY(wanted[name], values_of(node, at + ": " + name));
      if (name == "disk" || name == "data") {
        continue;
      }
      const std::vector<std::string>* there = values_of_name(name);
      if (there == nullptr) {
        return usage_error(fmt::format("{}: exclude: '{}' is not in [matrix]{}",
                                       spec_place(file_, key.source()), name,
                                       nearest_of(name, names())));
      }
      for (const std::string& value : wanted[name]) {
        if (std::ranges::find(*there, value) == there->end()) {
          return usage_error(fmt::format("{}: exclude: {} is never '{}' in [matrix]{}", at, name,
                                         value, nearest_of(value, *there)));
        }
      }
    }
    matrix_.exclude.push_back(std::move(wanted));
    return {};
  }

  const std::vector<std::string>* values_of_name(const std::string& name) const {
    for (const MatrixAxis& axis : matrix_.axes) {
      const auto at = std::ranges::find(axis.names, name);
      if (at != axis.names.end()) {
        return &axis.values[static_cast<std::size_t>(at - axis.names.begin())];
      }
    }
    return nullptr;
  }

  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const MatrixAxis& axis : matrix_.axes) {
      all.insert(all.end(), axis.names.begin(), axis.names.end());
    }
    return all;
  }

  const std::string& file_;
  Matrix matrix_;
};

bool has_all(const CellText& cell, const CellText& site, const CellText& wanted) {
  return std::ranges::all_of(wanted, [&](const auto& option) {
    const auto& [name, values] = option;
    const CellText& from = cell.contains(name) ? cell : site;
    const auto found = from.find(name);
    return found != from.end() && std::ranges::find(values, found->second.front()) != values.end();
  });
}

Result<> check_product(const Matrix& matrix, const CellText& over) {
  std::size_t product = 1;
  for (const auto& [name, values] : over) {
    product *= values.size();
  }
  for (const MatrixAxis& axis : matrix.axes) {
    product *= axis.values.front().size();
    if (product > kMostCombinations) {
      return usage_error(
          fmt::format("[matrix]: more than {} combinations: sweep in parts", kMostCombinations));
    }
  }
  return {};
}

// The same for all values of an axis, so equal ones come together.
std::vector<CellText> overridden(std::vector<CellText> cells, const CellText& over) {
  std::vector<CellText> out;
  std::set<CellText> seen;
  for (const auto& [name, values] : over) {
    std::vector<CellText> next;
    for (const CellText& cell : cells) {
      for (const std::string& value : values) {
        next.push_back(cell);
        next.back()[name] = {value};
      }
    }
    cells = std::move(next);
  }
  std::ranges::copy_if(cells, std::back_inserter(out),
                       [&](const CellText& cell) { return seen.insert(cell).second; });
  return out;
}

CellText folded(CellText text) {
  fold_io_flags(text);
  return text;
}

// What of it an axis has.
CellText of_axes(const CellText& over, const Matrix& matrix) {
  CellText axes;
  for (const auto& [name, place] : matrix.places) {
    axes[name] = {};
  }
  for (const auto* flag : {"direct", "buffered"}) {
    if (axes.erase(flag) > 0) {
      axes["io"] = {};
    }
  }
  CellText given = folded(over);
  std::erase_if(given, [&](const auto& option) {
    return option.first == "peer" || !axes.contains(option.first);
  });
  return given;
}

}  // namespace

Result<Matrix> parse_matrix(const toml::table& table, const std::string& file) {
  return MatrixParser(file).parse(table);
}

Result<std::vector<CellText>> combinations(const Matrix& matrix, const CellText& site,
                                           const CellText& over) {
  const CellText given = of_axes(over, matrix);
  BLKSWEEP_CHECK(check_product(matrix, given));
  std::vector<CellText> cells(matrix.axes.empty() ? 0 : 1);
  for (const MatrixAxis& axis : matrix.axes) {
    std::vector<CellText> next;
    for (const CellText& cell : cells) {
      for (std::size_t v = 0; v < axis.values.front().size(); ++v) {
        next.push_back(cell);
        for (std::size_t n = 0; n < axis.names.size(); ++n) {
          next.back()[axis.names[n]] = {axis.values[n][v]};
        }
      }
    }
    cells = std::move(next);
  }
  std::ranges::for_each(cells, fold_io_flags);
  cells = overridden(std::move(cells), given);
  std::erase_if(cells, [&](const CellText& cell) {
    return std::ranges::any_of(matrix.exclude, [&](const CellText& wanted) {
      return has_all(cell, site, folded(wanted));
    });
  });
  return cells;
}

}  // namespace blksweep
