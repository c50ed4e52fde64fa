#include "os/file.h"

#include <gtest/gtest.h>

namespace blksweep {
namespace {

// A descriptor or a process may end while /proc tells of it: read(2) fails then.
TEST(WholeText, IsEmptyWhereReadingFails) {
  EXPECT_EQ(whole_text("/proc/self/mem"), "");  // EIO at address 0
  EXPECT_EQ(whole_text("/"), "");               // EISDIR
  EXPECT_EQ(whole_text("/nowhere"), "");
  EXPECT_NE(whole_text("/proc/self/status"), "");
  EXPECT_EQ(first_line("/proc/self/mem"), "");
}

}  // namespace
}  // namespace blksweep
