#include "plan/owner_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "support/flat_catalog.h"
#include "support/synthetic_catalog.h"

namespace blksweep {
namespace {

using support::SyntheticCatalog;
using support::SyntheticSettings;

// Who may own a byte of the disk, asked of everything that the catalog says.
struct Owner {
  std::uint32_t file = kNobody;
  std::uint64_t file_offset = 0;
  auto operator<=>(const Owner&) const = default;
};

std::set<Owner> owners_of(const Catalog& c, std::uint64_t at) {
  std::set<Owner> owners;
  for (const ExtentRecord& e : c.extents) {
    const std::uint64_t begin = c.partition_start + e.device_offset;
    if (e.has_address() && (e.flags & kExtentEncoded) == 0 && at >= begin &&
        at < begin + e.length) {
      owners.insert({e.file, e.file_offset + (at - begin)});
    }
  }
  return owners;
}

std::set<std::uint32_t> samples_there(const Catalog& c, const Owner& owner) {
  for (const ExtentRecord& e : c.extents_of(owner.file)) {
    const bool here = owner.file_offset >= e.file_offset && owner.file_offset < e.file_end();
    if (here && (e.flags & kExtentUnwritten) != 0) {
      return {kNobody};
    }
  }
  std::set<std::uint32_t> found;
  for (std::uint32_t n = 0; n < c.samples(); ++n) {
    const Sample s = c.sample(n);
    if (s.file == owner.file && owner.file_offset >= s.offset &&
        owner.file_offset < s.offset + s.length) {
      found.insert(n);
    }
  }
  return found.empty() ? std::set<std::uint32_t>{kNobody} : found;
}

bool bridged(const Catalog& c, const Plan& plan, std::uint64_t at) {
  return std::ranges::any_of(plan.reads, [&](const Read& r) {
    const std::uint64_t begin = c.partition_start + r.offset;
    return r.source == kFromDevice && at >= begin && at < begin + r.length;
  });
}

// Every byte's own answer is the part's: at its ends, and somewhere between.
void expect_true(const Catalog& c, const Plan& plan, const OwnedPart& p, Rng& rng) {
  for (const std::uint64_t at : {p.begin, p.end - 1, p.begin + rng.below(p.bytes())}) {
    const std::set<Owner> owners = owners_of(c, at);
    if (p.file == kNobody) {
      ASSERT_TRUE(owners.empty());
      ASSERT_EQ(p.planned, bridged(c, plan, at));
      continue;
    }
    const Owner owner{p.file, p.file_offset + (at - p.begin)};
    ASSERT_TRUE(owners.contains(owner)) << "byte " << at;
    ASSERT_TRUE(samples_there(c, owner).contains(p.sample)) << "byte " << at;
    ASSERT_FALSE(p.planned);
  }
}

SyntheticSettings random_settings(Rng& rng, std::uint64_t seed) {
  SyntheticSettings s{.files = 1 + static_cast<std::uint32_t>(rng.below(30))};
  s.mean_bytes = 1 + rng.below(40'000);
  s.extents_per_file = 1 + rng.unit() * 2;
  s.odd = rng.below(2) == 0 ? 0.3 : 0;
  s.holes = rng.below(2) == 0 ? 0.3 : 0;
  s.seed = seed;
  if (rng.below(2) == 0) {
    s.parts_per_file = 5;
    s.part_stride = 1 + rng.below(8'000);
    s.part_bytes = 1 + rng.below(12'000);  // may overlap, may leave room
  }
  return s;
}

TEST(OwnerMap, EachByteOfARequestIsToldWhoseItIs) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Rng rng(seed, 0x6164);
    const SyntheticCatalog data(random_settings(rng, seed));
    Catalog c = data.view();
    c.partition_start = rng.below(2) * 1048576;
    const Plan plan = make_plan(c, make_order(c, {.order = Order::lba}), 1,
                                {.merge = Merge::device, .gap = {rng.below(30'000)}});
    const OwnerMap map(c, plan);
    std::uint64_t end = 0;
    for (const ExtentRecord& e : c.extents) {
      end = std::max(end, c.partition_start + e.device_offset + e.length + 8192);
    }
    for (int i = 0; i < 20; ++i) {
      const std::uint64_t begin = align_down(rng.below(end + 1), kSectorBytes);
      const ByteRange request{begin, begin + kSectorBytes * (1 + rng.below(300))};
      std::vector<OwnedPart> parts;
      map.append_parts(request, parts);
      std::uint64_t at = request.begin;
      for (const OwnedPart& p : parts) {
        ASSERT_EQ(p.begin, at);  // in order, disjoint, nothing between
        ASSERT_GT(p.end, p.begin);
        at = p.end;
        expect_true(c, plan, p, rng);
      }
      ASSERT_EQ(at, request.end) << "seed " << seed;
    }
  }
}

TEST(OwnerMap, TheRestOfTheLastBlockIsOfItsFileAndOfNoSample) {
  support::FlatCatalog flat("/data");
  flat.add("a", 5000, 8192);
  const Catalog c = flat.view();
  std::vector<OwnedPart> parts;
  OwnerMap(c).append_parts({4096, 20480}, parts);
  ASSERT_EQ(parts.size(), 4U);
  EXPECT_EQ(parts[0].file, kNobody);
  EXPECT_EQ(parts[1].sample, 0U);
  EXPECT_EQ(parts[1].bytes(), 5000U);
  EXPECT_EQ(parts[2].file, 0U);
  EXPECT_EQ(parts[2].file_offset, 5000U);
  EXPECT_EQ(parts[2].sample, kNobody);
  EXPECT_EQ(parts[2].end, 16384U);
  EXPECT_EQ(parts[3].file, kNobody);
}

TEST(OwnerMap, WhatAReadOfThePlanBridgesIsPlanned) {
  support::FlatCatalog flat("/data");
  flat.add("a", 4096, 0);
  flat.add("b", 4096, 12288);
  const Catalog c = flat.view();
  Plan plan;
  plan.reads = {{0, 16384, kFromDevice}};
  std::vector<OwnedPart> parts;
  OwnerMap(c, plan).append_parts({0, 20480}, parts);
  ASSERT_EQ(parts.size(), 4U);
  EXPECT_TRUE(parts[1].planned);
  EXPECT_EQ(parts[1].bytes(), 8192U);
  EXPECT_EQ(parts[2].file, 1U);
  EXPECT_FALSE(parts[3].planned);  // behind the read
}

// A trace's reads are samples in the order in which they were read.
TEST(OwnerMap, SamplesOfAFileMayBeNumberedInAnyOrder) {
  support::FlatCatalog flat("/data");
  flat.add("a", 12288, 0);
  Catalog c = flat.view();
  const std::vector<PartSample> parts{
      {8192, 4096, 0, kNoLabel}, {0, 4096, 0, kNoLabel}, {4096, 4096, 0, kNoLabel}};
  c.whole = {};
  c.parts = parts;
  std::vector<OwnedPart> owned;
  OwnerMap(c).append_parts({0, 12288}, owned);
  std::vector<std::uint32_t> samples;
  std::ranges::transform(owned, std::back_inserter(samples), &OwnedPart::sample);
  EXPECT_EQ(samples, (std::vector<std::uint32_t>{1, 2, 0}));
}

// One stretch of nobody's for each, however many reads take it in.
TEST(OwnerMap, ReadsOfThePlanThatTouchAreOneStretch) {
  support::FlatCatalog flat("/data");
  flat.add("a", 4096, 0);
  flat.add("b", 4096, 28672);
  const Catalog c = flat.view();
  Plan plan;
  plan.reads = {{8192, 4096, kFromDevice}, {0, 8192, kFromDevice}, {16384, 4096, kFromDevice}};
  std::vector<OwnedPart> parts;
  OwnerMap(c, plan).append_parts({4096, 28672}, parts);
  ASSERT_EQ(parts.size(), 4U);
  EXPECT_EQ(parts[0].end, 12288U);
  EXPECT_TRUE(parts[0].planned);
  EXPECT_FALSE(parts[1].planned);
  EXPECT_EQ(parts[2].begin, 16384U);
  EXPECT_TRUE(parts[2].planned);
  EXPECT_FALSE(parts[3].planned);
}

}  // namespace
}  // namespace blksweep
