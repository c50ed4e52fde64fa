// Labels of cells whose settings include ones of the node.
#include <gtest/gtest.h>

#include "store/summary/labels.h"

namespace blksweep {
namespace {

CellRecord lba_under(const char* scheduler) {
  CellRecord c;
  c.settings = {{"order", "lba"}, {"scheduler", scheduler}};
  return c;
}

// "lba" beside "lba + scheduler bfq" does not say what the first one read with.
TEST(CellLabels, NameEverySchedulerOfASweep) {
  EXPECT_EQ(cell_labels({lba_under("none"), lba_under("keep"), lba_under("bfq")}),
            (std::vector<std::string>{"lba + scheduler none", "lba + scheduler keep",
                                      "lba + scheduler bfq"}));
  EXPECT_EQ(cell_labels({lba_under("none")}), std::vector<std::string>{"lba"});
}

}  // namespace
}  // namespace blksweep
