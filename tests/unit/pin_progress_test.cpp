#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "node/pin/pin.h"
#include "support/temp_dir.h"

namespace blksweep {
namespace {

// One look each 20 ms: an answer that takes longer makes it one for each file, asked before it.
TEST(PagePin, TellsHowManyFilesAreDone) {
  const TempDir dir;
  const PinFiles files{4, [&](std::size_t i) { return dir.path("f" + std::to_string(i)); }};
  for (std::size_t i = 0; i < files.count; ++i) {
    dir.write("f" + std::to_string(i), "data");
  }
  std::vector<std::uint64_t> told;
  const auto slow = [] { return ::usleep(25'000) != 0; };
  const auto pin = PagePin::take(files, slow, [&](std::uint64_t done) { told.push_back(done); });
  ASSERT_TRUE(pin) << pin.error().text;
  told.erase(std::unique(told.begin(), told.end()), told.end());
  EXPECT_EQ(told, (std::vector<std::uint64_t>{0, 1, 2, 3}));
}

}  // namespace
}  // namespace blksweep
