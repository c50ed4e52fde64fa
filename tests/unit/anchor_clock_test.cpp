#include "stage/anchor_clock.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace blksweep {
namespace {

// An accelerator's clock that runs `ppm` fast and began at another time.
struct OtherClock {
  double ppm = 0;
  std::int64_t origin = 0;
  std::int64_t at(std::int64_t host) const {
    return std::llround(static_cast<double>(host - origin) * (1 + ppm * 1e-6));
  }
};

// The host sees the moment `host` between two readings that are up to `width` apart.
ClockReading bracket(const OtherClock& clock, std::int64_t host, std::int64_t width, Rng& rng) {
  const auto before = static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(width)));
  return {clock.at(host), host - before, host - before + width};
}

TEST(AnchorClock, OneAnchorGivesTheOffset) {
  AnchorClock clock;
  clock.offer({1'000, 50'000, 50'010});
  EXPECT_EQ(clock.to_host(1'000), 50'005);
  EXPECT_EQ(clock.to_host(3'000), 52'005);
  EXPECT_EQ(clock.alignment().offset_ns, 50'005);
  EXPECT_EQ(clock.alignment().anchors, 1U);
}

// The property that the account relies on: no time is farther off than what is stated.
TEST(AnchorClock, NoTimeIsFartherOffThanTheStatedError) {
  for (const double ppm : {-45.0, 0.0, 12.0, 45.0}) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      Rng rng(seed);
      const OtherClock other{ppm, 1'000'000'000};
      AnchorClock clock;
      std::int64_t worst = 0;
      std::int64_t now = 2'000'000'000;
      for (int i = 0; i < 500; ++i) {
        now += static_cast<std::int64_t>(rng.below(200'000'000));
        clock.offer(bracket(other, now, 2'000 + static_cast<std::int64_t>(rng.below(60'000)), rng));
        const std::int64_t event = now + static_cast<std::int64_t>(rng.below(50'000'000));
        worst = std::max(worst, std::abs(clock.to_host(other.at(event)) - event));
      }
      EXPECT_LE(worst, clock.alignment().error_ns) << ppm << " ppm, seed " << seed;
    }
  }
}

TEST(AnchorClock, AWideBracketDoesNotReplaceANarrowOne) {
  AnchorClock clock;
  clock.offer({0, 1'000, 1'010});
  clock.offer({100'000, 0, 500'000});  // the thread slept between its two readings
  EXPECT_EQ(clock.to_host(0), 1'005);
  EXPECT_EQ(clock.to_host(100'000), 101'005);
}

TEST(AnchorClock, AnOldAnchorGivesWayToAFreshOne) {
  AnchorClock clock;
  clock.offer({0, 0, 10});
  // Ten seconds at 40 ppm are 400 us: the old anchor may be off by 500 us, the new one by 10.
  clock.offer({10'000'400'000, 10'000'000'000, 10'000'000'020});
  EXPECT_EQ(clock.to_host(10'000'400'000), 10'000'000'010);
  EXPECT_NEAR(clock.alignment().drift * 1e6, -40, 0.1);
}

TEST(AnchorClock, WhatTheHostSawItselfBoundsATime) {
  AnchorClock clock;
  clock.offer({0, 0, 1'000});
  EXPECT_EQ(clock.to_host_within(100, 700, 2'000), 700);
  EXPECT_EQ(clock.to_host_within(100, 0, 450), 450);
  EXPECT_EQ(clock.alignment().clamped_ns, 150);
  EXPECT_EQ(clock.to_host_within(100, 0, 2'000), 600);
}

}  // namespace
}  // namespace blksweep
