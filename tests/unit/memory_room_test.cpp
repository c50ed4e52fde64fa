#include "os/memory/memory_room.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

namespace blksweep {
namespace {

TEST(MemoryRoom, IsNotMoreThanTheNodeHas) {
  const std::optional<Bytes> room = memory_room().least();
  ASSERT_TRUE(room);
  EXPECT_GT(room->n, 0U);
  const auto total = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                     static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  EXPECT_LE(room->n, total);
}

TEST(MemInfo, FindsALineByItsWholeNameOnly) {
  const std::string text = "MemTotal: 10 kB\nSwapCached: 7 kB\nCached:   20 kB\n";
  EXPECT_EQ(meminfo(text, "Cached")->n, 20U * 1024);
  EXPECT_FALSE(meminfo(text, "Dirty"));
}

TEST(MemoryRoom, TheSmallerOfNodeAndCgroupCounts) {
  MemoryRoom room{Bytes{100}, std::nullopt};
  EXPECT_FALSE(room.of_cgroup());
  EXPECT_EQ(room.least()->n, 100U);
  room.cgroup_limit = Bytes{40};
  EXPECT_TRUE(room.of_cgroup());
  EXPECT_EQ(room.least()->n, 40U);
  room.cgroup_limit = Bytes{400};
  EXPECT_FALSE(room.of_cgroup());
  EXPECT_EQ(room.least()->n, 100U);
  EXPECT_FALSE(MemoryRoom{}.least()) << "unknown is not 0";
}

}  // namespace
}  // namespace blksweep
