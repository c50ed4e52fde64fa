#include "stage/consumer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/clock.h"

namespace blksweep {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

TEST(ComputeTime, ReadsFixedAndLognormal) {
  const auto fixed = parse_compute_time("12ms");
  ASSERT_TRUE(fixed);
  EXPECT_EQ(fixed->mean, milliseconds(12));
  EXPECT_EQ(fixed->sigma, 0);
  const auto drawn = parse_compute_time("lognormal:12ms");
  ASSERT_TRUE(drawn);
  EXPECT_EQ(drawn->mean, milliseconds(12));
  EXPECT_GT(drawn->sigma, 0);
  const auto wide = parse_compute_time("lognormal:12ms:0.5");
  ASSERT_TRUE(wide);
  EXPECT_EQ(wide->sigma, 0.5);
}

TEST(ComputeTime, RefusesEverythingElse) {
  for (const char* text : {"", "12", "ms", "-12ms", "12ms ", "normal:12ms",
                           "lognormal:", "lognormal:12ms:", "lognormal:12ms:0", "lognormal:12ms:-1",
                           "lognormal:12ms:nan", "lognormal:12ms:inf", "lognormal:12ms:0.5:1",
                           "12ms:0.5", "9000000000s"}) {
    const auto got = parse_compute_time(text);
    ASSERT_FALSE(got) << text;
    EXPECT_EQ(got.error().exit_code, Exit::usage);
  }
}

TEST(ComputeTime, EveryCellSeesTheSameDurations) {
  const ComputeTime t{milliseconds(10), 0.5};
  bool varies = false;
  for (std::uint32_t b = 0; b < 100; ++b) {
    EXPECT_EQ(t.of_batch(b, 7), t.of_batch(b, 7));
    varies = varies || t.of_batch(b, 7) != t.of_batch(b, 8);
  }
  EXPECT_TRUE(varies);
  EXPECT_EQ((ComputeTime{milliseconds(10), 0}.of_batch(3, 7)), milliseconds(10));
}

// The mean stays what was asked for; 200,000 draws of sigma 0.5 miss it by 0.12 % (one sigma).
TEST(ComputeTime, LognormalHasTheMeanAndTheSigma) {
  const ComputeTime t{milliseconds(10), 0.5};
  constexpr std::uint32_t kDraws = 200'000;
  double sum = 0, logs = 0, squares = 0;
  for (std::uint32_t b = 0; b < kDraws; ++b) {
    const auto ns = static_cast<double>(t.of_batch(b, 1).count());
    sum += ns;
    logs += std::log(ns);
    squares += std::log(ns) * std::log(ns);
  }
  EXPECT_NEAR(sum / kDraws / 10e6, 1, 0.006);
  const double mean_log = logs / kDraws;
  EXPECT_NEAR(std::sqrt(squares / kDraws - mean_log * mean_log), 0.5, 0.005);
}

TEST(ComputeTime, StaysWithinADayHoweverWide) {
  const ComputeTime t{hours(24), 3.9};
  for (std::uint32_t b = 0; b < 2000; ++b) {
    EXPECT_GE(t.of_batch(b, 1).count(), 0);
    EXPECT_LE(t.of_batch(b, 1), hours(24));
  }
}

TEST(EmulateCompute, EndsNotBeforeItsTime) {
  const std::int64_t begin = now_ns();
  emulate_compute(begin, milliseconds(3));
  EXPECT_GE(now_ns() - begin, 3'000'000);
  emulate_compute(begin - 10'000'000'000, milliseconds(3));  // over long ago: returns at once
}

}  // namespace
}  // namespace blksweep
