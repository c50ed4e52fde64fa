#include <gtest/gtest.h>

#include "base/rng.h"
#include "replay/addresses.h"

namespace blksweep {
namespace {

constexpr DeviceSpace kDevice{.bytes = 1 << 20, .align = 512};

TEST(ReplayAddresses, AsTheyAreOnlyWhatLiesOnTheDevice) {
  const AddressMap map(AddressMode::as_is, {2 << 20}, kDevice);
  EXPECT_EQ(map.place(0, 4096, 8192), (ByteRange{4096, 12288}));
  EXPECT_EQ(map.place(0, (1 << 20) - 4096, 4096), (ByteRange{(1 << 20) - 4096, 1 << 20}));
  EXPECT_FALSE(map.place(0, (1 << 20) - 4096, 8192));
  EXPECT_FALSE(map.place(0, 1 << 20, 512));
  EXPECT_EQ(map.place(0, 0, 1 << 20), (ByteRange{0, 1 << 20}));
}

TEST(ReplayAddresses, DirectReadsAreRoundedOutwards) {
  const AddressMap map(AddressMode::as_is, {1 << 20}, kDevice);
  EXPECT_EQ(map.place(0, 1000, 100), (ByteRange{512, 1536}));
}

TEST(ReplayAddresses, StackedVolumesDoNotMeet) {
  const AddressMap map(AddressMode::stack, {5000, 100 * 4096, 4096}, kDevice);
  EXPECT_EQ(map.place(0, 0, 4096)->begin, 0U);
  EXPECT_EQ(map.place(1, 0, 4096)->begin, 8192U);  // 5000 rounded to whole pages
  EXPECT_EQ(map.place(2, 0, 4096)->begin, 102U * 4096);
  EXPECT_EQ(map.place(1, 4096, 512)->begin, 12288U);  // neighbours stay
}

TEST(ReplayAddresses, ScaledTheFurthestEndIsTheDevices) {
  const AddressMap map(AddressMode::scale, {16 << 20, 8 << 20}, kDevice);
  EXPECT_EQ(map.place(0, 8 << 20, 4096)->begin, std::uint64_t{1} << 19);
  EXPECT_EQ(map.place(0, (16 << 20) - 4096, 4096)->end, std::uint64_t{1} << 20);
}

TEST(ReplayAddresses, WrappedTheyBeginAgain) {
  const AddressMap map(AddressMode::wrap, {4 << 20}, kDevice);
  EXPECT_EQ(map.place(0, (2 << 20) + 8192, 4096), (ByteRange{8192, 12288}));
}

TEST(ReplayAddresses, WhatHangsOverTheEndIsMovedBackWhole) {
  const AddressMap wrap(AddressMode::wrap, {4 << 20}, kDevice);
  EXPECT_EQ(wrap.place(0, (2 << 20) - 4096, 16384), (ByteRange{(1 << 20) - 16384, 1 << 20}));
  Rng rng(8);
  for (const AddressMode mode : {AddressMode::wrap, AddressMode::scale}) {
    const AddressMap map(mode, {1 << 30}, kDevice);
    for (int i = 0; i < 5000; ++i) {  // folded, all that is not longer than the device has a place
      EXPECT_TRUE(map.place(0, rng.below(1 << 30), 1 + rng.below((1 << 20) - 1024)));
    }
  }
}

// Whatever a trace says: a place lies on the device, is aligned and as long as it must be.
TEST(ReplayAddresses, EveryPlaceLiesOnTheDevice) {
  Rng rng(7);
  for (const AddressMode mode :
       {AddressMode::as_is, AddressMode::wrap, AddressMode::scale, AddressMode::stack}) {
    const AddressMap map(mode, {1 << 18, UINT64_MAX, UINT64_MAX - 1}, kDevice);
    for (int i = 0; i < 20'000; ++i) {
      const std::uint64_t offset = rng.next() >> (rng.next() % 64);
      const std::uint64_t bytes = 1 + (rng.next() >> (rng.next() % 64)) % (2U << 20);
      const auto place = map.place(static_cast<std::uint32_t>(i % 3), offset, bytes);
      if (place) {
        ASSERT_LE(place->end, kDevice.bytes);
        ASSERT_LT(place->begin, place->end);
        ASSERT_EQ(place->begin % 512 + place->end % 512, 0U);
        ASSERT_GE(place->bytes(), bytes);
      }
    }
  }
}

}  // namespace
}  // namespace blksweep
