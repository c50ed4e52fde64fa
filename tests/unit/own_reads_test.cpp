// What /proc/self/io says of this process, and of whom it says nothing.
#include "os/block/own_reads.h"

#include <gtest/gtest.h>

#include <fstream>

#include "support/temp_dir.h"

namespace blksweep {
namespace {

std::optional<std::uint64_t> read_of(const std::string& text) {
  const TempDir dir;
  std::ofstream(dir.path("io")) << text;
  return own_read_bytes(dir.path("io"));
}

TEST(OwnReads, AreReadBytesAndNoOtherCount) {
  EXPECT_EQ(read_of("rchar: 7\nsyscr: 1\nread_bytes: 4096\nwrite_bytes: 9\n"), 4096U);
  EXPECT_EQ(read_of("read_bytes: 0\n"), 0U);
}

TEST(OwnReads, HaveTheWritesBesideThem) {
  const TempDir dir;
  std::ofstream(dir.path("io")) << "read_bytes: 1\ncancelled_write_bytes: 3\nwrite_bytes: 8192\n";
  EXPECT_EQ(own_written_bytes(dir.path("io")), 8192U);
  EXPECT_EQ(own_written_bytes("/nowhere/io"), std::nullopt);
}

TEST(OwnReads, AreUnknownWhereTheKernelDoesNotCountThem) {
  EXPECT_EQ(read_of("rchar: 7\nwchar: 1\n"), std::nullopt);  // without task accounting
  EXPECT_EQ(read_of("cancelled_read_bytes: 5\n"), std::nullopt);
  EXPECT_EQ(own_read_bytes("/nowhere/io"), std::nullopt);
}

TEST(OwnReads, AreNotThoseOfADaemonThatReadsForUs) {
  EXPECT_TRUE(others_read_for_us("fuseblk"));
  EXPECT_TRUE(others_read_for_us("fuse.sshfs"));
  EXPECT_FALSE(others_read_for_us("ext4"));
  EXPECT_FALSE(others_read_for_us("btrfs"));
}

}  // namespace
}  // namespace blksweep
