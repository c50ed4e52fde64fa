#include <fmt/format.h>

#include <algorithm>

#include "cli/run/cell_options.h"

namespace blksweep {
namespace {

Result<> check_count(const CellText& text) {
  std::uint64_t cells = 1;
  for (const auto& [name, values] : text) {
    cells *= std::max<std::size_t>(values.size(), 1);
    if (cells > kMostCells) {
      return usage_error(fmt::format(
          "more than {} cells with --{}: give fewer values, or sweep in parts", kMostCells, name));
    }
  }
  return {};
}

// Equal cells under one name are one cell, and would be no test of anything.
Result<> check_arms(const CellText& text) {
  const auto given = text.find("arm");
  std::vector<std::string> arms = given == text.end() ? std::vector<std::string>() : given->second;
  std::ranges::sort(arms);
  const auto twice = std::ranges::adjacent_find(arms);
  return twice == arms.end()
             ? Result<>()
             : usage_error(fmt::format("--arm: '{}' is named twice: give each arm a name of its "
                                       "own, such as a,b; --repeats runs a cell several times",
                                       *twice));
}

}  // namespace

Result<std::vector<CellSettings>> expand_cells(const CellText& text) {
  BLKSWEEP_CHECK(check_count(text));
  BLKSWEEP_CHECK(check_arms(text));
  std::vector<CellSettings> cells(1);
  for (const CellOption& option : cell_options()) {
    const auto given = text.find(option.name);
    if (given == text.end()) {
      continue;
    }
    std::vector<CellSettings> next;
    for (const CellSettings& cell : cells) {
      for (const std::string& value : given->second) {
        if (const Result<> set = option.set(next.emplace_back(cell), value); !set) {
          return usage_error(fmt::format("--{}: {}", option.name, set.error().message()));
        }
      }
    }
    cells = std::move(next);
  }
  for (CellSettings& cell : cells) {
    cell.order_named = text.contains("order");
    cell.window_named = text.contains("window");
    cell.engine_named = text.contains("engine");
    if (!text.contains("io")) {
      cell.direct = traits_of(cell.engine).direct;
    }
    if (!text.contains("consumer") && cell.compute.mean.count() > 0) {
      cell.consumer = ConsumerKind::emulated;
    }
    BLKSWEEP_CHECK(cell.workers > 0 ? settle_workers(cell) : Result<>());
    BLKSWEEP_CHECK(check_cell(cell));
  }
  return cells;
}

}  // namespace blksweep
