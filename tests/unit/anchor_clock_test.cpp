#include "stage/cuda/anchor_clock.h"

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
  EXPECT_EQ(clock.to_host({1'000}), 50'005);
  EXPECT_EQ(clock.to_host({3'000}), 52'005);
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
        worst = std::max(worst, std::abs(clock.to_host({other.at(event)}) - event));
      }
      EXPECT_LE(worst, clock.alignment().error_ns) << ppm << " ppm, seed " << seed;
    }
  }
}

// The host's clock as NTP slews it against a true one: by 500 ppm, one way and then the other.
struct SlewedHost {
  std::int64_t period_ns;
  std::int64_t at(std::int64_t true_ns) const {
    const std::int64_t in = true_ns % (2 * period_ns);
    const std::int64_t ahead = in < period_ns ? in : 2 * period_ns - in;
    return true_ns + std::llround(static_cast<double>(ahead) * 500e-6);
  }
};

// docs/copy-stage.md: with an anchor every 20 ms and a way to the GPU and back of 10 us.
TEST(AnchorClock, TwentyMicrosecondsHoldWhileTheHostIsSlewed) {
  for (const std::int64_t period : {30'000'000LL, 1'000'000'000LL, 100'000'000'000LL}) {
    for (const double ppm : {-500.0, -50.0, 0.0, 50.0, 500.0}) {
      Rng rng(static_cast<std::uint64_t>(period));
      const SlewedHost host{period};
      const bool slewed = std::abs(ppm) < 500;  // the bound is on the sum of both
      const OtherClock other{ppm, 0};
      const auto host_at = [&](std::int64_t t) { return slewed ? host.at(t) : t; };
      AnchorClock clock;
      for (std::int64_t t = 0; t < 20'000'000'000; t += 20'000'000) {
        const auto width = static_cast<std::int64_t>(1'000 + rng.below(9'000));
        const auto before = static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(width)));
        const std::int64_t h = host_at(t);
        clock.offer({other.at(t), h - before, h - before + width, 700});
        const std::int64_t event = t + static_cast<std::int64_t>(rng.below(20'000'000));
        const std::int64_t found = clock.to_host({other.at(event), 700});
        ASSERT_LE(std::abs(found - host_at(event)), clock.alignment().error_ns);
      }
      EXPECT_LE(clock.alignment().error_ns, 20'000) << ppm << " ppm, period " << period;
    }
  }
}

// chrony may slew by 8 %: what two anchors prove widens the stated error.
TEST(AnchorClock, AHarderSlewIsSeenAndStated) {
  const OtherClock other{20'000, 0};
  AnchorClock clock;
  clock.offer({other.at(0), -2'000, 2'000});
  clock.offer({other.at(20'000'000), 19'998'000, 20'002'000});
  const std::int64_t event = 30'000'000;
  const std::int64_t off = std::abs(clock.to_host({other.at(event)}) - event);
  EXPECT_GT(off, 100'000);
  EXPECT_LE(off, clock.alignment().error_ns);
}

TEST(AnchorClock, ATimeBetweenTwoAnchorsIsCountedFromTheNearer) {
  AnchorClock clock;
  clock.offer({0, 0, 100});
  clock.offer({50'000'000, 50'000'000, 50'000'100});
  EXPECT_EQ(clock.to_host({1'000'000}), 1'000'050);
  EXPECT_EQ(clock.alignment().error_ns, 50 + 600);
  EXPECT_EQ(clock.to_host({49'000'000}), 49'000'050);
  EXPECT_EQ(clock.alignment().error_ns, 50 + 600);
}

TEST(AnchorClock, AWideBracketDoesNotReplaceANarrowOne) {
  AnchorClock clock;
  clock.offer({0, 1'000, 1'010});
  clock.offer({100'000, 0, 500'000});  // the thread slept between its two readings
  EXPECT_EQ(clock.to_host({0}), 1'005);
  EXPECT_EQ(clock.to_host({100'000}), 101'005);
}

// Kernels would be counted outside of the epoch, and cut, by as much as the first anchor is off.
TEST(AnchorClock, TheAcceleratorsOwnClockIsSetAtTheMostCertainAnchor) {
  AnchorClock clock;
  clock.offer({0, 0, 8'000'000});  // the truth is 100; the thread slept between its two readings
  clock.offer({1'000'000, 1'000'090, 1'000'110});
  EXPECT_EQ(clock.on_device({5'000'000}), 5'000'100);
  EXPECT_EQ(clock.alignment().error_ns, 10);
  EXPECT_EQ(clock.alignment().offset_ns, 1'000'100);
  clock.offer({2'000'000, 2'000'099, 2'000'101});  // more certain, too late
  EXPECT_EQ(clock.on_device({6'000'000}), 6'000'100);
  clock.restart();
  clock.offer({7'000'000, 7'000'000, 7'000'400});
  EXPECT_EQ(clock.on_device({7'000'000}), 7'000'200);
  EXPECT_EQ(clock.alignment().error_ns, 200) << "what the only anchor is off by is stated";
}

TEST(AnchorClock, AnOldAnchorGivesWayToAFreshOne) {
  AnchorClock clock;
  clock.offer({0, 0, 10});
  // Ten seconds at 40 ppm are 400 us: the old anchor may be off by 6 ms, the new one by 10 ns.
  clock.offer({10'000'400'000, 10'000'000'000, 10'000'000'020});
  EXPECT_EQ(clock.to_host({10'000'400'000}), 10'000'000'010);
  EXPECT_NEAR(*clock.alignment().drift * 1e6, -40, 0.1);
}

// Over a short epoch the errors of two anchors are most of it: then the error says so.
TEST(AnchorClock, ADriftIsWithinItsOwnError) {
  AnchorClock one;
  one.offer({0, 0, 10});
  EXPECT_FALSE(one.alignment().drift) << "of one anchor there is none";
  Rng rng(5);
  for (int i = 0; i < 1'000; ++i) {
    const double truth = (rng.unit() - 0.5) * 1e-3;
    const auto length = static_cast<std::int64_t>(1'000 + rng.below(1'000'000'000));
    AnchorClock clock;
    for (const std::int64_t host : {std::int64_t{0}, length}) {
      const auto early = static_cast<std::int64_t>(rng.below(20'000));
      const auto late = static_cast<std::int64_t>(rng.below(20'000));
      const double device = static_cast<double>(host) * (1 - truth);
      clock.offer({std::llround(device) + 7'000, host - early, host + late, 500});
    }
    if (const ClockAlignment& a = clock.alignment(); a.drift) {
      ASSERT_LE(std::abs(*a.drift - truth), *a.drift_error * 1.02) << length << " ns";
    }
  }
}

TEST(AnchorClock, WhatTheHostSawItselfBoundsATime) {
  AnchorClock clock;
  clock.offer({0, 0, 1'000});
  EXPECT_EQ(clock.to_host_within({100}, 700, 2'000), 700);
  EXPECT_EQ(clock.to_host_within({100}, 0, 450), 450);
  EXPECT_EQ(clock.alignment().clamped_ns, 150);
  EXPECT_EQ(clock.to_host_within({100}, 0, 2'000), 600);
}

}  // namespace
}  // namespace blksweep
