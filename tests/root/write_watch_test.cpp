#include "os/file/write_watch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "support/loop_fs.h"

namespace blksweep {
namespace {

constexpr std::uint64_t kDedupedBytes = 65536;

void write_letters(const std::string& path, char letter) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << std::string(kDedupedBytes, letter);
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(::fsync(fd.get()), 0);
}

// As root may with a file that is open for reading only.
bool deduplicate(const std::string& from, const std::string& to) {
  const Fd source(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
  const Fd target(::open(to.c_str(), O_RDONLY | O_CLOEXEC));
  alignas(file_dedupe_range)
      std::array<std::byte, sizeof(file_dedupe_range) + sizeof(file_dedupe_range_info)>
          room{};
  auto* const range = reinterpret_cast<file_dedupe_range*>(room.data());
  range->src_length = kDedupedBytes;
  range->dest_count = 1;
  range->info[0].dest_fd = target.get();
  return ::ioctl(source.get(), FIDEDUPERANGE, range) == 0 &&
         range->info[0].status == FILE_DEDUPE_RANGE_SAME;
}

TEST(WriteWatchXfs, BlocksThatBecomeAnotherFilesByDeduplicationAreSeen) {
  LoopFs loop;
  if (const auto made = loop.make({"mkfs.xfs -q", "", 400, false}); !made) {
    GTEST_SKIP() << made.error().message();
  }
  write_letters(loop.path("set/one"), 'a');
  write_letters(loop.path("else/copy"), 'a');
  auto watch = WriteWatch::begin(loop.path("set"));
  ASSERT_TRUE(watch) << watch.error().message();
  write_letters(loop.path("else/other"), 'b');
  const auto others = watch->touched();
  ASSERT_TRUE(others);
  EXPECT_EQ(std::ranges::count(*others, 0U), 0) << "somebody else's file is written";
  if (!deduplicate(loop.path("else/copy"), loop.path("set/one"))) {
    GTEST_SKIP() << "this xfs has no reflink";
  }
  const auto touched = watch->touched();
  ASSERT_TRUE(touched);
  EXPECT_EQ(std::ranges::count(*touched, 0U), 1);
  const auto again = watch->touched();
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->empty());
}

}  // namespace
}  // namespace blksweep
