#include <gtest/gtest.h>

#include <algorithm>

#include "plan/plan.h"
#include "support/flat_catalog.h"
#include "support/plan_model.h"
#include "support/synthetic_catalog.h"

namespace blksweep {
namespace {

using support::SyntheticCatalog;
using support::SyntheticSettings;

constexpr Merge kMerges[] = {Merge::none, Merge::file, Merge::kernel, Merge::device};

struct Shape {
  const char* name;
  SyntheticSettings settings;
};

class PlanShapes : public ::testing::TestWithParam<Shape> {};

TEST_P(PlanShapes, EveryByteLandsOnce) {
  const SyntheticCatalog data(GetParam().settings);
  const Catalog c = data.view();
  std::uint64_t variant = 0;
  for (const Order order : {Order::random, Order::path, Order::lba, Order::chunked}) {
    for (const Merge merge : kMerges) {
      for (const std::uint32_t align : {1U, 512U, 4096U}) {
        const std::uint64_t v = variant++;
        const MergeSettings m{.merge = merge,
                              .gap = {v % 3 == 0 ? 0U : 9000U},
                              .max = {v % 2 == 0 ? 16384U : 200000U},
                              .align = align,
                              .batch = 8,
                              .horizon = {v % 5 < 2 ? 0U : 100000U},
                              .share = {v % 7 == 0 ? 0U : 65536U}};
        const Plan plan = make_plan(c, make_order(c, {.order = order, .epochs = 2}), 2, m);
        EXPECT_EQ(support::check_plan(data, plan, m), "")
            << to_string(order) << ' ' << to_string(merge) << " align " << align;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Data, PlanShapes,
    ::testing::Values(
        Shape{"none", {.files = 0}}, Shape{"one", {.files = 1}}, Shape{"plain", {.files = 40}},
        Shape{"fragmented", {.files = 20, .extents_per_file = 4, .mean_bytes = 30000}},
        Shape{"sparse", {.files = 30, .extents_per_file = 3, .mean_bytes = 24000, .holes = 0.5}},
        Shape{"odd", {.files = 30, .extents_per_file = 3, .odd = 0.5, .holes = 0.2}},
        Shape{"unreadable", {.files = 20, .holes = 0.2, .device_readable = false}},
        Shape{"records",
              {.files = 4,
               .extents_per_file = 3,
               .mean_bytes = 40000,
               .odd = 0.2,
               .holes = 0.2,
               .parts_per_file = 90,
               .part_stride = 1000,
               .part_bytes = 1000}},
        Shape{"tar",
              {.files = 4,
               .extents_per_file = 2,
               .mean_bytes = 60000,
               .parts_per_file = 20,
               .part_stride = 5120,
               .part_bytes = 4567}},
        Shape{"tiny",
              {.files = 2,
               .mean_bytes = 3000,
               .parts_per_file = 500,
               .part_stride = 7,
               .part_bytes = 7}}),
    [](const auto& shape) { return shape.param.name; });

Plan plan_of(const SyntheticCatalog& data, Order order, const MergeSettings& m) {
  const Catalog c = data.view();
  return make_plan(c, make_order(c, {.order = order}), 1, m);
}

TEST(Plan, DeviceMergeOfSortedFilesNeedsFarFewerReads) {
  const SyntheticCatalog data({.files = 2000, .extents_per_file = 1});
  const Plan none = plan_of(data, Order::lba, {.merge = Merge::none});
  const Plan device = plan_of(data, Order::lba, {.merge = Merge::device});
  EXPECT_GT(none.reads.size(), 50 * device.reads.size());
  EXPECT_EQ(device.device_fallbacks, 0U);
}

TEST(Plan, FileMergeReadsAFragmentedFileInOne) {
  const SyntheticCatalog data({.files = 50, .extents_per_file = 5, .mean_bytes = 60000});
  const Plan plan = plan_of(data, Order::random, {.merge = Merge::file});
  const auto full = static_cast<std::size_t>(
      std::ranges::count_if(data.view().files, [](const FileRecord& f) { return f.size > 0; }));
  EXPECT_EQ(plan.reads.size(), full);
}

TEST(Plan, RecordsOfOneReadShareAParcelWithoutReadingABlockTwice) {
  const SyntheticCatalog data({.files = 1,
                               .extents_per_file = 1,
                               .mean_bytes = 400000,
                               .parts_per_file = 1000,
                               .part_stride = 1000,
                               .part_bytes = 1000});
  const Plan plan = plan_of(data, Order::path, {.merge = Merge::file});
  ASSERT_FALSE(plan.parcel.empty());
  std::uint64_t bytes = 0;
  for (const Read& r : plan.reads) {
    bytes += r.length;
  }
  EXPECT_LE(bytes, align_up(data.view().files[0].size, kPageBytes));
}

TEST(Plan, KernelMergeSortsWithinABatchOnly) {
  const SyntheticCatalog data({.files = 500, .extents_per_file = 2});
  const MergeSettings m{.merge = Merge::kernel, .batch = 16};
  const Plan plan = plan_of(data, Order::random, m);
  const Catalog c = data.view();
  const auto address = [&c](const Read& r) {
    const auto all = c.extents_of(r.source);
    const auto e = std::ranges::find_if(all, [&r](const ExtentRecord& x) {
      return r.offset >= x.file_offset && r.offset < x.file_end();
    });
    return e->device_offset + r.offset - e->file_offset;
  };
  EXPECT_EQ(plan.submit_batch, 16U);
  for (std::size_t i = 0; i + 1 < plan.reads.size(); ++i) {
    if (i % 16 != 15) {
      EXPECT_LT(address(plan.reads[i]), address(plan.reads[i + 1]));
    }
  }
}

TEST(Plan, CountOfSegmentsIsWhatNoPlanExceeds) {
  const SyntheticCatalog data({.files = 300, .extents_per_file = 3});
  for (const Merge merge : kMerges) {
    const MergeSettings settings{.merge = merge, .max = Bytes{kPageBytes}};
    const std::uint64_t n = plan_needs(data.view(), settings, ~std::uint64_t{0})->segments;
    EXPECT_EQ(plan_needs(data.view(), settings, n)->segments, n);
    EXPECT_FALSE(plan_needs(data.view(), settings, n - 1));
    const Plan plan = plan_of(data, Order::random, settings);
    EXPECT_GE(n, std::max(plan.reads.size(), plan.pieces.size()));
  }
}

TEST(Plan, HorizonZeroKeepsTheOrder) {
  const SyntheticCatalog data({.files = 300});
  const Plan plan = plan_of(data, Order::random, {.merge = Merge::device});
  EXPECT_TRUE(std::ranges::is_sorted(plan.pieces, {}, &Piece::parcel));
}

std::vector<std::uint64_t> read_offsets(Catalog c, std::vector<std::uint32_t> order) {
  c.device_readable = true;
  const Plan plan =
      make_plan(c, std::move(order), 1, {.merge = Merge::device, .gap = {0}, .horizon = {1 << 20}});
  std::vector<std::uint64_t> offsets;
  std::ranges::transform(plan.reads, std::back_inserter(offsets), &Read::offset);
  return offsets;
}

// Sorting across would undo what the order was asked for.
TEST(Plan, AHorizonEndsWhereTheOrderGoesBackOnTheDevice) {
  support::FlatCatalog flat("/data");
  for (std::uint64_t i = 0; i < 4; ++i) {
    flat.add("f" + std::to_string(i), 4096, i * 65536);
  }
  EXPECT_EQ(read_offsets(flat.view(), {2, 3, 0, 1}),
            (std::vector<std::uint64_t>{2 * 65536, 3 * 65536, 0, 65536}));
}

// A sample and its copy that shares its first block; their second blocks lie apart.
TEST(Plan, SamplesThatBeginAtOneAddressAreSortedTogether) {
  support::FlatCatalog flat("/data");
  for (const std::uint64_t second : {std::uint64_t{3} * 65536, std::uint64_t{2} * 65536}) {
    flat.add("f" + std::to_string(second), 8192, 65536);
    ExtentRecord e = flat.extents.back();
    flat.extents.back().length = 4096;
    e = {4096, second, 4096, 0, e.file};
    flat.extents.push_back(e);
  }
  EXPECT_EQ(read_offsets(flat.view(), {0, 1}),
            (std::vector<std::uint64_t>{65536, 65536, 2 * 65536, 3 * 65536}));
}

TEST(Plan, CountsSamplesThatTheDeviceCannotServe) {
  const SyntheticCatalog data({.files = 200, .device_readable = false});
  const Plan plan = plan_of(data, Order::lba, {.merge = Merge::device});
  const auto full = static_cast<std::uint64_t>(
      std::ranges::count_if(data.view().files, [](const FileRecord& f) { return f.size > 0; }));
  EXPECT_EQ(plan.device_fallbacks, full);
}

TEST(PlanSummary, AddsUp) {
  const SyntheticCatalog data({.files = 500, .extents_per_file = 1});
  const Catalog c = data.view();
  const Plan plan = plan_of(data, Order::lba, {.merge = Merge::device});
  const PlanSummary sum = summarize(c, plan);
  EXPECT_EQ(sum.reads, plan.reads.size());
  EXPECT_EQ(sum.sample_bytes, c.bytes().n);
  EXPECT_EQ(sum.gap_bytes, sum.read_bytes - sum.sample_bytes);
  EXPECT_LT(*sum.seeks, sum.reads);
  const PlanSummary random = summarize(c, plan_of(data, Order::random, {.merge = Merge::none}));
  EXPECT_GT(*random.seeks, 3 * *sum.seeks);
  EXPECT_GT(*random.mean_seek_bytes, 2 * *sum.mean_seek_bytes);
}

TEST(PlanSummary, CountsTheSamplesOfThePlanAlone) {
  const SyntheticCatalog data({.files = 30, .extents_per_file = 1});
  const Catalog c = data.view();
  const Plan twice = make_plan(c, {7, 3, 3, 7}, 2, {});
  EXPECT_EQ(summarize(c, twice).sample_bytes, 2 * (c.sample(3).length + c.sample(7).length));
}

TEST(CatalogExtents, BeginWithTheFirstThatEndsBehindTheOffset) {
  const SyntheticCatalog data({.files = 40, .extents_per_file = 3});
  const Catalog c = data.view();
  for (std::uint32_t file = 0; file < c.files.size(); ++file) {
    const auto all = c.extents_of(file);
    for (std::uint64_t offset = 0; offset <= c.files[file].size + 4096; offset += 512) {
      const auto first =
          std::ranges::find_if(all, [&](const ExtentRecord& e) { return e.file_end() > offset; });
      EXPECT_EQ(c.extents_from(file, offset).size(), static_cast<std::size_t>(all.end() - first));
    }
  }
}

TEST(CatalogBytes, AreThereWhereOneSampleHasSome) {
  const SyntheticCatalog data({.files = 3, .extents_per_file = 1});
  Catalog c = data.view();
  EXPECT_TRUE(c.has_bytes());
  c.whole = {};
  c.parts = {};
  EXPECT_FALSE(c.has_bytes());
  const PartSample parts[] = {{.offset = 0, .length = 0, .file = 0, .label = kNoLabel},
                              {.offset = 5, .length = 1, .file = 0, .label = kNoLabel}};
  c.parts = std::span(parts).first(1);
  EXPECT_FALSE(c.has_bytes());
  c.parts = parts;
  EXPECT_TRUE(c.has_bytes());
}

// Two files beside each other that end inside a page, read through the page cache.
TEST(PlanSummary, APageIsReadToItsEnd) {
  const SyntheticCatalog data({.files = 50, .extents_per_file = 1});
  const Catalog c = data.view();
  const Plan plan = plan_of(data, Order::lba, {.align = 1});
  const Plan aligned = plan_of(data, Order::lba, {.align = kPageBytes});
  const PlanSummary bytes = summarize(c, plan);
  const PlanSummary pages = summarize(c, plan, kPageBytes);
  EXPECT_EQ(pages.read_bytes, bytes.read_bytes);
  EXPECT_LE(*pages.seeks, *bytes.seeks);
  EXPECT_EQ(pages.seeks, summarize(c, aligned).seeks) << "as reads of whole pages have them";
}

TEST(PlanSummary, SeeksAreUnknownWhereAnAddressIs) {
  const SyntheticCatalog data({.files = 50, .extents_per_file = 1});
  Catalog c = data.view();
  std::vector<ExtentRecord> extents(c.extents.begin(), c.extents.end());
  c.extents = extents;
  const Plan plan = plan_of(data, Order::path, {});
  EXPECT_TRUE(summarize(c, plan).seeks);
  extents[20].flags |= kExtentNoAddress;
  EXPECT_FALSE(summarize(c, plan).seeks);
  EXPECT_TRUE(summarize(c, plan).mean_seek_bytes) << "over those that are known";
  for (ExtentRecord& e : extents) {
    e.flags |= kExtentNoAddress;
  }
  EXPECT_FALSE(summarize(c, plan).seeks);
  EXPECT_FALSE(summarize(c, plan).mean_seek_bytes);
}

// Its length counts bytes of the file: where it ends on the device is not known.
TEST(PlanSummary, SeeksAreUnknownBehindACompressedExtent) {
  const SyntheticCatalog data({.files = 50, .extents_per_file = 1});
  Catalog c = data.view();
  std::vector<ExtentRecord> extents(c.extents.begin(), c.extents.end());
  c.extents = extents;
  const Plan plan = plan_of(data, Order::lba, {});
  for (ExtentRecord& e : extents) {
    e.flags |= kExtentEncoded;
  }
  EXPECT_FALSE(summarize(c, plan).seeks);
  EXPECT_FALSE(summarize(c, plan).mean_seek_bytes);
}

// a and b have a piece behind each other's: a a', b b' lie as a b a' b'.
TEST(PlanSummary, AReadEndsWhereItsLastExtentDoes) {
  constexpr std::uint64_t kBlock = 4096;
  support::FlatCatalog made("/x");
  made.add("a", 2 * kBlock);
  made.add("b", 2 * kBlock);
  made.extents = {{0, 0, kBlock, 0, 0},
                  {kBlock, 2 * kBlock, kBlock, 0, 0},
                  {0, kBlock, kBlock, 0, 1},
                  {kBlock, 3 * kBlock, kBlock, 0, 1}};
  made.files[1].first_extent = 2;
  const Catalog c = made.view();
  const PlanSummary sum = summarize(c, make_plan(c, {0, 1}, 1, {.merge = Merge::file}));
  EXPECT_EQ(sum.reads, 2U);
  EXPECT_EQ(sum.seeks, 1U);
  EXPECT_EQ(sum.mean_seek_bytes, 2.0 * kBlock) << "from behind a' back to b";
  const PlanSummary straight = summarize(c, make_plan(c, {0}, 1, {.merge = Merge::file}));
  EXPECT_EQ(straight.seeks, 0U);
  EXPECT_EQ(straight.mean_seek_bytes, std::nullopt) << "there is none that had a distance";
}

}  // namespace
}  // namespace blksweep
