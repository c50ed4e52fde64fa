#include "node/limits/descriptor_room.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>

namespace blksweep {
namespace {

// Under that limit, from which there is no way back: in a process of its own.
[[noreturn]] void tell_room_under(std::uint64_t most) {
  const rlimit limit{most, most};
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) {
    ::_exit(2);
  }
  const std::uint64_t room = descriptors_per_helper(), left = most - std::min(room, most);
  std::fprintf(stderr, "%ju of %ju\n", std::uintmax_t{room}, std::uintmax_t{most});
  ::_exit(room >= 1 && left >= std::min<std::uint64_t>(most / 2, 64) ? 0 : 1);
}

TEST(DescriptorRoom, LeavesHalfOfFewAndSixtyFourOfMany) {
  for (const std::uint64_t most : {3U, 8U, 64U, 127U, 128U, 129U, 130U, 200U, 256U, 1024U}) {
    EXPECT_EXIT(tell_room_under(most), ::testing::ExitedWithCode(0), "") << most;
  }
}

TEST(DescriptorRoom, HelpersSuffice) {
  const std::uint64_t room = descriptors_per_helper();
  EXPECT_EQ(inode_helpers(0), 0U);
  for (const std::uint64_t files : {std::uint64_t{1}, room, room + 1, 10 * room, 10 * room + 1}) {
    EXPECT_GE(inode_helpers(files) * room, files);
  }
}

}  // namespace
}  // namespace blksweep
