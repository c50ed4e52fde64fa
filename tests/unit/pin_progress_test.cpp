#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "node/pin/page_helper.h"
#include "node/pin/pin.h"
#include "support/sanitizers.h"
#include "support/temp_dir.h"

namespace blksweep {
namespace {

PinFiles four_in(const TempDir& dir) {
  for (std::size_t i = 0; i < 4; ++i) {
    dir.write("f" + std::to_string(i), "data");
  }
  return {4, [&dir](std::size_t i) { return dir.path("f" + std::to_string(i)); }};
}

// One look each 20 ms: an answer that takes longer makes it one for each file, asked before it.
TEST(PagePin, TellsHowManyFilesAreDone) {
  const TempDir dir;
  const PinFiles files = four_in(dir);
  std::vector<std::uint64_t> told;
  const auto slow = [] { return ::usleep(25'000) != 0; };
  const auto pin = PagePin::take(files, slow, [&](std::uint64_t done) { told.push_back(done); });
  ASSERT_TRUE(pin) << pin.error().text;
  told.erase(std::unique(told.begin(), told.end()), told.end());
  EXPECT_EQ(told, (std::vector<std::uint64_t>{0, 1, 2, 3}));
}

// In a process of its own: what is wrong, or nothing.
std::string of_a_file_too_large(const TempDir& dir, const PinFiles& files) {
  const rlimit room{std::uint64_t{4} << 30, std::uint64_t{4} << 30};
  if (::truncate(dir.path("f3").c_str(), std::int64_t{5} << 30) != 0 ||
      ::setrlimit(RLIMIT_AS, &room) != 0) {
    return "no such file here";
  }
  auto helper = PageHelper::start(files, 1, files.count);
  if (!helper) {
    return helper.error().message();
  }
  std::optional<Result<PinCount>> count;
  while (!(count = helper->result(files))) {
    ::usleep(1000);
  }
  const std::string said = *count ? "pinned" : count->error().message();
  return said.find(dir.path("f3")) != std::string::npos ? "" : said;
}

TEST(PageHelper, NamesTheFileThatThereIsNoMemoryFor) {
  if (support::sanitized()) {
    GTEST_SKIP() << "a sanitizer takes all address space";
  }
  const TempDir dir;
  const PinFiles files = four_in(dir);
  const auto exit_status = [&] {
    const std::string wrong = of_a_file_too_large(dir, files);
    std::cerr << wrong;
    return wrong.empty() ? 0 : 1;
  };
  EXPECT_EXIT(::_exit(exit_status()), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace blksweep
