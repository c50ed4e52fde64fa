// run_wide has a column for every setting that a cell can have.
#include "store/wide_view.h"

#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <string>

#include "cli/run/cell_options.h"

namespace blksweep {
namespace {

std::set<std::string> names_of_all_cells() {
  CellSettings cell;
  cell.order = Order::chunked;
  cell.control = Control::same;
  cell.order_asked = Order::lba;
  cell.merge_asked = Merge::device;
  cell.addresses_refused = true;
  std::set<std::string> names;
  for (const auto& [name, value] : describe(cell)) {
    names.insert(name);
  }
  return names;
}

TEST(WideView, HasAColumnForEverySettingOfACell) {
  std::set<std::string> known;
  std::istringstream words(kWideView);
  for (std::string word, before; words >> word; before = word) {
    if (before == "WHEN" && word.starts_with("'")) {
      known.insert(word.substr(1, word.size() - 2));
    }
  }
  EXPECT_EQ(names_of_all_cells(), known)
      << "a setting is missing in src/store/wide_view.cpp, or is there no more";
}

}  // namespace
}  // namespace blksweep
