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

}  // namespace

Result<std::vector<CellSettings>> expand_cells(const CellText& text) {
  BLKSWEEP_CHECK(check_count(text));
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
