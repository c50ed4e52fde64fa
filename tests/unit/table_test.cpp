#include "base/table.h"

#include <gtest/gtest.h>

namespace blksweep {
namespace {

TEST(Table, AlignsNumbersRightAndTextLeft) {
  Table t;
  t.column("cell", Table::Align::left);
  t.column("MiB/s");
  t.row({"random", "9.5"});
  t.row({"lba + device", "1234.0"});
  EXPECT_EQ(t.text(),
            "cell           MiB/s\n"
            "------------  ------\n"
            "random           9.5\n"
            "lba + device  1234.0\n");
}

TEST(Table, CountsCharactersAndEndsLinesWithoutSpaces) {
  Table t;
  t.column("a");
  t.column("b", Table::Align::left);
  t.row({"3 µs"});
  t.row({"12 µs", "x"});
  EXPECT_EQ(t.text(), "    a  b\n-----  -\n 3 µs\n12 µs  x\n");
}

}  // namespace
}  // namespace blksweep
