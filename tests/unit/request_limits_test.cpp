// Whether a read may be more than one request, by its bytes and by the runs of memory it goes to.
#include "os/block/request_limits.h"

#include <gtest/gtest.h>

#include <vector>

namespace blksweep {
namespace {

constexpr std::size_t kOneKiB = 1024, kOneMiB = 1024 * kOneKiB;
// A loop device's.
constexpr RequestLimits kLoop{
    .bytes = 1280 * kOneKiB, .segments = 128, .segment_bytes = 64 * kOneKiB};

iovec at(std::size_t address, std::size_t length) {
  return {reinterpret_cast<void*>(address), length};  // NOLINT(performance-no-int-to-ptr)
}

TEST(RequestLimits, AreThoseOfBytes) {
  const std::size_t begin = 64 * kOneMiB;
  EXPECT_FALSE(may_split(std::vector{at(begin, 1280 * kOneKiB)}, kLoop));
  EXPECT_TRUE(may_split(std::vector{at(begin, 1280 * kOneKiB + 512)}, kLoop));
  EXPECT_TRUE(may_split(std::vector{at(begin, kOneMiB), at(begin + 2 * kOneMiB, kOneMiB)}, kLoop));
  EXPECT_FALSE(may_split(std::vector{at(begin, 100 * kOneMiB)}, {})) << "nothing is known";
}

TEST(RequestLimits, AreThoseOfRunsOfMemory) {
  const auto pieces = [](std::size_t count, std::size_t bytes) {
    std::vector<iovec> all;
    for (std::size_t i = 0; i < count; ++i) {
      all.push_back(at(64 * kOneMiB + i * 2 * bytes, bytes));
    }
    return all;
  };
  EXPECT_FALSE(may_split(pieces(128, 8 * kOneKiB), kLoop));
  EXPECT_TRUE(may_split(pieces(129, 8 * kOneKiB), kLoop));
  RequestLimits few = kLoop;
  few.segments = 16;
  EXPECT_FALSE(may_split(std::vector{at(64 * kOneMiB, kOneMiB)}, few)) << "16 times 64 KiB";
  EXPECT_TRUE(may_split(std::vector{at(64 * kOneMiB, kOneMiB + 4096)}, few));
  EXPECT_TRUE(may_split(std::vector{at(65 * kOneMiB + 4096, kOneMiB)}, few)) << "in two huge pages";
}

TEST(RequestLimits, CountEachPageWhereNoneIsHuge) {
  RequestLimits small = kLoop;
  small.huge_pages = false;
  EXPECT_FALSE(may_split(std::vector{at(64 * kOneMiB, 512 * kOneKiB)}, small));
  EXPECT_TRUE(may_split(std::vector{at(64 * kOneMiB + 512, 512 * kOneKiB)}, small)) << "129 pages";
  EXPECT_TRUE(may_split(std::vector{at(64 * kOneMiB, kOneMiB)}, small));
  small.segment_bytes = 2048;
  EXPECT_TRUE(may_split(std::vector{at(64 * kOneMiB, 512 * kOneKiB)}, small));
}

TEST(RequestLimits, OfADiskThatIsNotThereAreNone) {
  const RequestLimits none = limits_of("no-such-disk");
  EXPECT_EQ(none.bytes, RequestLimits::kUnlimited);
  EXPECT_EQ(none.segments, RequestLimits::kUnlimited);
  EXPECT_EQ(none.segment_bytes, RequestLimits::kUnlimited);
}

}  // namespace
}  // namespace blksweep
