// run_wide has a column for every setting that a cell can have.
#include "store/wide_view.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "cli/run/cell_options.h"

namespace blksweep {
namespace {

std::set<std::string> names_of_all_cells() {
  CellSettings cell;
  cell.order = Order::lba;
  cell.order_asked = Order::lba;
  cell.merge_asked = Merge::device;
  cell.addresses_refused = true;
  cell.control = Control::same;
  std::set<std::string> names;
  for (const auto& [name, value] : describe(cell)) {
    names.insert(name);
  }
  return names;
}

TEST(WideView, HasAColumnForEverySettingOfACell) {
  const auto known = setting_names();
  EXPECT_EQ(names_of_all_cells(), std::set<std::string>(known.begin(), known.end()))
      << "a setting is missing in src/store/wide_view.cpp, or is there no more";
}

}  // namespace
}  // namespace blksweep
