// Plans of workers: a read of its own for each sample, a slot of its own for each batch.
#include "plan/batch_slots.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/plan_model.h"
#include "support/sanitizers.h"
#include "support/synthetic_catalog.h"

namespace blksweep {
namespace {

using support::SyntheticCatalog;

// Fragmented, odd and sparse files; whole, and as many packed samples.
SyntheticCatalog odd_files(std::uint32_t files, double odd, std::uint32_t parts,
                           std::uint32_t part_bytes) {
  return SyntheticCatalog({.files = files,
                           .extents_per_file = 3,
                           .mean_bytes = 30000,
                           .odd = odd,
                           .holes = odd,
                           .parts_per_file = parts,
                           .part_stride = part_bytes + 100,
                           .part_bytes = part_bytes});
}

TEST(BatchSlots, AreSafeAndReadEverySampleAtOnce) {
  for (const std::uint32_t parts : {0U, 20U}) {
    const SyntheticCatalog data = odd_files(200, 0.2, parts, 900);
    const Catalog c = data.view();
    for (const std::uint32_t align : {1U, 512U, 4096U}) {
      if (support::sanitized() && align == 512) {
        continue;  // 30 s otherwise
      }
      for (const std::uint32_t slots : {1U, 2U, 7U, 1000U}) {
        MergeSettings m{.max = {8192}, .align = align, .whole = true};
        const Plan plan = make_plan(c, make_order(c, {.order = Order::random, .epochs = 2}), 2, m);
        std::size_t with_bytes = 0;
        for (const std::uint32_t sample : plan.order) {
          with_bytes += c.sample(sample).length > 0 ? 1 : 0;
        }
        EXPECT_EQ(plan.reads.size(), with_bytes);
        EXPECT_EQ(plan.pieces.size(), with_bytes);
        m.max = {std::uint64_t{1} << 30};
        EXPECT_EQ(support::check_plan(data, plan, m), "");
        const auto s = make_schedule(c, plan, {.batch = 9, .slots = slots});
        ASSERT_TRUE(s) << s.error().message();
        EXPECT_EQ(support::check_schedule(plan, *s), "");
        EXPECT_TRUE(std::ranges::is_sorted(s->emission));
        const std::vector<std::uint32_t> reads = reads_by_batch(plan, *s);
        EXPECT_EQ(reads.front(), 0U);
        EXPECT_EQ(reads.back(), plan.reads.size());
        EXPECT_TRUE(std::ranges::is_sorted(reads));
      }
    }
  }
}

TEST(BatchSlots, OfMoreThanThereIsAreRefused) {
  const SyntheticCatalog data({.files = 300, .mean_bytes = 1 << 20});
  const Catalog c = data.view();
  const Plan plan = make_plan(c, make_order(c, {.order = Order::path, .epochs = 100}), 100,
                              {.align = 4096, .whole = true});
  Schedule s;
  s.batch_begin = {0, static_cast<std::uint32_t>(plan.order.size())};
  EXPECT_TRUE(place_batches(plan, {1U << 28, 4096}, s)) << "there is one batch only";
  for (std::uint32_t p = 0; p <= plan.order.size(); p += 1) {
    s.batch_begin.resize(p + 1);
    s.batch_begin[p] = p;
  }
  const auto many = place_batches(plan, {1U << 28, 1U << 30}, s);
  ASSERT_FALSE(many);
  EXPECT_NE(many.error().message().find("--prefetch"), std::string::npos);
}

TEST(BatchSlots, OfNothingTakeNothing) {
  const Plan plan;
  Schedule s;
  s.batch_begin = {0};
  ASSERT_TRUE(place_batches(plan, {4, 4096}, s));
  EXPECT_EQ(s.arena.n, 0U);
}

// --read-share: the first part, in whole bytes, and nothing behind it.
TEST(ReadShare, CutsEverySampleAndRoundsUp) {
  EXPECT_EQ(ReadShare{250'000}.of(4), 1U);
  EXPECT_EQ(ReadShare{250'000}.of(5), 2U);
  EXPECT_EQ(ReadShare{1}.of(1), 1U);
  EXPECT_EQ(ReadShare{1}.of(0), 0U);
  EXPECT_EQ(ReadShare{}.of(kMaxSampleBytes), kMaxSampleBytes);
  EXPECT_EQ(ReadShare{999'999}.of(kMaxSampleBytes), 4'293'914'427U);
}

TEST(ReadShare, PlansCoverTheFirstPartsExactly) {
  for (const std::uint32_t parts : {0U, 20U}) {
    const SyntheticCatalog data = odd_files(150, 0.1, parts, 2900);
    const Catalog whole = data.view();
    Catalog c = whole;
    c.share = {250'000};
    std::uint64_t sum = 0;
    for (std::uint32_t s = 0; s < c.samples(); ++s) {
      EXPECT_EQ(c.sample(s).length, (whole.sample(s).length + 3) / 4);
      EXPECT_EQ(c.sample(s).offset, whole.sample(s).offset);
      sum += c.sample(s).length;
    }
    EXPECT_EQ(c.bytes().n, sum);
    for (const Merge merge : {Merge::none, Merge::file, Merge::kernel, Merge::device}) {
      for (const std::uint32_t align : {1U, 512U}) {
        const MergeSettings m{.merge = merge, .align = merge == Merge::device ? 512 : align};
        const Plan plan = make_plan(c, make_order(c, {.order = Order::lba}), 1, m);
        std::uint64_t parcels = 0;
        for (std::uint32_t p = 0; p < plan.order.size(); ++p) {
          parcels += plan.parcel.empty() ? plan.parcel_bytes[p] : 0;
          const Sample s = c.sample(plan.order[p]);
          EXPECT_LE(plan.head[p] + s.length, plan.parcel_bytes[plan.parcel_of(p)]);
        }
        EXPECT_LE(summarize(c, plan).read_bytes,
                  sum + c.samples() * 2 * m.align + summarize(c, plan).gap_bytes);
        EXPECT_EQ(summarize(c, plan).sample_bytes, sum);
        EXPECT_TRUE(align > 1 || merge == Merge::device || !plan.parcel.empty() || parcels == sum);
      }
    }
  }
}

}  // namespace
}  // namespace blksweep
