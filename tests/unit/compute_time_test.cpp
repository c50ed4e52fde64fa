#include "stage/compute_time.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "simulate/predict_run.h"
#include "support/fixed_latency_model.h"
#include "support/flat_catalog.h"
#include "support/temp_dir.h"

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
  for (const char* text : {"",
                           "12",
                           "ms",
                           "-12ms",
                           "12ms ",
                           "normal:12ms",
                           "lognormal:",
                           "lognormal:12ms:",
                           "lognormal:12ms:0",
                           "lognormal:12ms:-1",
                           "lognormal:12ms:nan",
                           "lognormal:12ms:inf",
                           "lognormal:12ms:0.5:1",
                           "12ms:0.5",
                           "9000000000s",
                           "0:1ms",
                           "64:8ms/64:9ms",
                           "64:8ms/32:9ms",
                           "64:8ms//65:9ms",
                           "64:",
                           ":8ms",
                           "4294967296:1ms",
                           "first:1s",
                           "first:/12ms",
                           "first:1s/",
                           "first:1s/first:1s/12ms",
                           "table:",
                           "table:/"}) {
    const auto got = parse_compute_time(text);
    ASSERT_FALSE(got) << text;
    EXPECT_EQ(got.error().exit_code, Exit::usage);
  }
}

TEST(ComputeTime, EveryCellSeesTheSameDurations) {
  const ComputeTime t{milliseconds(10), 0.5};
  bool varies = false;
  for (std::uint32_t b = 0; b < 100; ++b) {
    EXPECT_EQ(t.of_batch(b, 64, 7), t.of_batch(b, 64, 7));
    varies = varies || t.of_batch(b, 64, 7) != t.of_batch(b, 64, 8);
  }
  EXPECT_TRUE(varies);
  EXPECT_EQ((ComputeTime{milliseconds(10), 0}.of_batch(3, 64, 7)), milliseconds(10));
}

// The mean stays what was asked for; 200,000 draws of sigma 0.5 miss it by 0.12 % (one sigma).
TEST(ComputeTime, LognormalHasTheMeanAndTheSigma) {
  const ComputeTime t{milliseconds(10), 0.5};
  constexpr std::uint32_t kDraws = 200'000;
  double sum = 0, logs = 0, squares = 0;
  for (std::uint32_t b = 0; b < kDraws; ++b) {
    const auto ns = static_cast<double>(t.of_batch(b, 64, 1).count());
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
    EXPECT_GE(t.of_batch(b, 64, 1).count(), 0);
    EXPECT_LE(t.of_batch(b, 64, 1), hours(24));
  }
}

TEST(ComputeTime, ReadsATableOfBatchSizes) {
  const auto t = parse_compute_time("64:8ms/256:20ms");
  ASSERT_TRUE(t) << t.error().message();
  EXPECT_EQ(t->of_batch(0, 64, 1), milliseconds(8));
  EXPECT_EQ(t->of_batch(0, 256, 1), milliseconds(20));
  EXPECT_EQ(t->of_batch(0, 160, 1), milliseconds(14));  // half way
  EXPECT_EQ(t->of_batch(0, 1, 1), milliseconds(8));     // level beyond the ends
  EXPECT_EQ(t->of_batch(0, 1000, 1), milliseconds(20));
  EXPECT_EQ(t->mean, milliseconds(20));
}

TEST(ComputeTime, ReadsATableFromAFile) {
  const TempDir dir;
  dir.write("t", "# samples time\n64 8ms\n\n256  20ms  # larger\n");
  const auto t = parse_compute_time("table:" + dir.path("t"));
  ASSERT_TRUE(t) << t.error().message();
  EXPECT_EQ(to_string(*t), "64:8000000ns/256:20000000ns");
  dir.write("empty", "# nothing\n");
  EXPECT_FALSE(parse_compute_time("table:" + dir.path("empty")));
  EXPECT_FALSE(parse_compute_time("table:" + dir.path("is not there")));
}

TEST(ComputeTime, TheFirstBatchMayHaveATimeOfItsOwn) {
  for (const std::string usual : {"12ms", "lognormal:12ms:0.5", "64:8ms/256:20ms"}) {
    const auto all = parse_compute_time(usual);
    const auto t = parse_compute_time("first:500ms/" + usual);
    ASSERT_TRUE(all && t) << usual;
    EXPECT_EQ(t->of_batch(0, 64, 7), milliseconds(500));
    for (std::uint32_t b = 1; b < 10; ++b) {
      EXPECT_EQ(t->of_batch(b, 64, 7), all->of_batch(b, 64, 7));
    }
  }
}

// Ten files in batches of 4, 4 and 2, one read of 1 ms at a time: each batch takes its own time.
TEST(ComputeTime, OfATableIsThatOfEachBatchInAPredictedEpoch) {
  support::FlatCatalog flat("/data");
  for (std::uint64_t i = 0; i < 10; ++i) {
    flat.add("f" + std::to_string(i), 4096, (i + 1) << 20);
  }
  Source source;
  source.catalog = flat.view();
  source.direct_align = kSectorBytes;
  LoaderSettings cell;
  cell.depth = 1;
  cell.batch = 4;
  cell.consumer = ConsumerKind::emulated;
  cell.compute = parse_compute_time("1:10ms/8:80ms").value();
  const auto planned = plan_epoch(source, cell, 1);
  ASSERT_TRUE(planned) << planned.error().message();
  support::FixedLatencyModel model(1'000'000, 1);
  SimDevice device;
  device.size = {std::uint64_t{1} << 40};
  const auto p = predict({source.catalog, *planned, cell, 1, model, device});
  ASSERT_TRUE(p) << p.error().message();
  EXPECT_EQ(p->epoch_ns, Nanos(milliseconds(4 + 40 + 40 + 20)).count());
  EXPECT_DOUBLE_EQ(p->utilisation.value_or(0), 100.0 / 104.0);
}

TEST(ComputeTime, WhatIsWrittenIsRead) {
  for (const char* text :
       {"12ms", "lognormal:12ms:0.5", "1:1us", "64:8ms/256:20ms", "first:1s/12ms"}) {
    const auto once = parse_compute_time(text);
    ASSERT_TRUE(once) << text;
    const auto again = parse_compute_time(to_string(*once));
    ASSERT_TRUE(again) << to_string(*once);
    EXPECT_EQ(to_string(*again), to_string(*once));
    EXPECT_EQ(again->of_batch(0, 100, 7), once->of_batch(0, 100, 7));
    EXPECT_EQ(again->of_batch(3, 100, 7), once->of_batch(3, 100, 7));
  }
}

}  // namespace
}  // namespace blksweep
