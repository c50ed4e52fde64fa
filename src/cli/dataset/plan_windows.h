// plan --label-mix: the smallest window of each cell, as a table or JSON (docs/simulate.md).
#pragma once

#include <string>
#include <vector>

#include "experiment/window_search.h"
#include "store/export/json.h"

namespace blksweep {

struct FoundWindow {
  std::string label;
  CellRecord cell;
  WindowAnswer answer;
};

std::string windows_text(const std::vector<FoundWindow>& found, const WindowQuestion& question);
Json windows_json(const std::vector<FoundWindow>& found, const WindowQuestion& question);

}  // namespace blksweep
