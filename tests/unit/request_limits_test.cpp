// Whether a read may be more than one request, by its bytes and by the runs of memory it goes to.
#include "os/request_limits.h"

#include <gtest/gtest.h>

#include <vector>

namespace blksweep {
namespace {

constexpr std::size_t kKiB = 1024, kMiB = 1024 * kKiB;
// A loop device's.
constexpr RequestLimits kLoop{.bytes = 1280 * kKiB, .segments = 128, .segment_bytes = 64 * kKiB};

iovec at(std::size_t address, std::size_t length) {
  return {reinterpret_cast<void*>(address), length};  // NOLINT(performance-no-int-to-ptr)
}

TEST(RequestLimits, AreThoseOfBytes) {
  const std::size_t begin = 64 * kMiB;
  EXPECT_FALSE(may_split(std::vector{at(begin, 1280 * kKiB)}, kLoop));
  EXPECT_TRUE(may_split(std::vector{at(begin, 1280 * kKiB + 512)}, kLoop));
  EXPECT_TRUE(may_split(std::vector{at(begin, kMiB), at(begin + 2 * kMiB, kMiB)}, kLoop));
  EXPECT_FALSE(may_split(std::vector{at(begin, 100 * kMiB)}, {})) << "nothing is known";
}

TEST(RequestLimits, AreThoseOfRunsOfMemory) {
  const auto pieces = [](std::size_t count, std::size_t bytes) {
    std::vector<iovec> all;
    for (std::size_t i = 0; i < count; ++i) {
      all.push_back(at(64 * kMiB + i * 2 * bytes, bytes));
    }
    return all;
  };
  EXPECT_FALSE(may_split(pieces(128, 8 * kKiB), kLoop));
  EXPECT_TRUE(may_split(pieces(129, 8 * kKiB), kLoop));
  RequestLimits few = kLoop;
  few.segments = 16;
  EXPECT_FALSE(may_split(std::vector{at(64 * kMiB, kMiB)}, few)) << "16 times 64 KiB";
  EXPECT_TRUE(may_split(std::vector{at(64 * kMiB, kMiB + 4096)}, few));
  EXPECT_TRUE(may_split(std::vector{at(65 * kMiB + 4096, kMiB)}, few)) << "in two huge pages";
}

TEST(RequestLimits, CountEachPageWhereNoneIsHuge) {
  RequestLimits small = kLoop;
  small.huge_pages = false;
  EXPECT_FALSE(may_split(std::vector{at(64 * kMiB, 512 * kKiB)}, small));
  EXPECT_TRUE(may_split(std::vector{at(64 * kMiB + 512, 512 * kKiB)}, small)) << "129 pages";
  EXPECT_TRUE(may_split(std::vector{at(64 * kMiB, kMiB)}, small));
  small.segment_bytes = 2048;
  EXPECT_TRUE(may_split(std::vector{at(64 * kMiB, 512 * kKiB)}, small));
}

TEST(RequestLimits, OfADiskThatIsNotThereAreNone) {
  const RequestLimits none = limits_of("no-such-disk");
  EXPECT_EQ(none.bytes, RequestLimits::kUnlimited);
  EXPECT_EQ(none.segments, RequestLimits::kUnlimited);
  EXPECT_EQ(none.segment_bytes, RequestLimits::kUnlimited);
}

}  // namespace
}  // namespace blksweep
