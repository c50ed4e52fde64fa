// The result of ranks: how well their order is shuffled, what is known of clocks and disks, and its
// database.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/rng.h"
#include "experiment/data_facts.h"
#include "ranks/keep.h"
#include "ranks/quality.h"
#include "ranks/result.h"
#include "ranks/row.h"
#include "stats/shuffle_quality.h"
#include "store/result_reader.h"
#include "store/schema/ranks_columns.h"
#include "support/flat_catalog.h"
#include "support/rank_rows.h"
#include "support/temp_dir.h"

namespace blksweep {
namespace {

using support::at;
using support::row_of;

TEST(RanksResult, WhatDisksGaveIsKnownOnlyIfItIsOfAllRanks) {
  std::vector<RankRow> rows(2);
  rows[0].storage_bytes = rows[1].storage_bytes = 10;
  rows[0].storage_known = 1;
  EXPECT_EQ(join_rows(rows).storage_bytes, std::nullopt);
  rows[1].storage_known = 1;
  EXPECT_EQ(join_rows(rows).storage_bytes, 20U);
}

TEST(RanksResult, WhatAllReadIsTheSumOfWhatEachRead) {
  std::vector<RankRow> rows(2);
  rows[0].samples = rows[0].bytes = rows[0].content = rows[0].barrier_ns = rows[0].waited_ns = 3;
  rows[1].samples = rows[1].bytes = rows[1].content = rows[1].barrier_ns = rows[1].waited_ns = 4;
  rows[0].wrong = 3;
  rows[1].wrong = 4;
  const JoinedRow j = join_rows(rows);
  EXPECT_EQ(j.samples, 7U);
  EXPECT_EQ(j.bytes, 7U);
  EXPECT_EQ(j.content, 7U);
  EXPECT_EQ(j.wrong, 7U);
  EXPECT_EQ(j.barrier_ns, 7);
  EXPECT_EQ(j.waited_ns, 7);
}

TEST(RanksResult, SaysThatBytesWereComparedWhereTheyWere) {
  const auto said = [](std::optional<EmissionProof> proof) {
    return result_json({"{}", {row_of(0, RankState::done)}, std::nullopt, std::move(proof)})
        .at("bytes_compared")
        .get<bool>();
  };
  EXPECT_FALSE(said(std::nullopt));
  EXPECT_FALSE(said(EmissionProof{.hash = "1"}));
  EXPECT_TRUE(said(EmissionProof{.hash = "1", .compared = true}));
}

TEST(RanksResult, ARankWithoutABatchHasNoTimeOfOne) {
  RankRow idle = row_of(1, RankState::done), busy = row_of(0, RankState::done);
  busy.samples = 1;
  busy.first_ns = busy.last_ns = 5000;
  const std::string text = result_text({"{}", {busy, idle}, std::nullopt, std::nullopt});
  EXPECT_EQ(text.find("0 ns  0 ns"), std::string::npos) << text;
}

// Small files take a page each: a disk reads more than what is delivered.
TEST(DataFacts, PagesOfSamplesCountOnce) {
  support::FlatCatalog flat("/data");
  flat.add("a", 1000);
  flat.add("b", 5000);
  flat.add("empty", 0);
  EXPECT_EQ(page_bytes(flat.view(), 1), 3 * 4096U);
  Catalog small_blocks = flat.view();
  small_blocks.block_bytes = 1024;
  EXPECT_EQ(page_bytes(small_blocks, 1), 1024U + 5 * 1024U);
  const std::vector<PartSample> parts{
      {0, 100, 1, kNoLabel}, {100, 100, 1, kNoLabel}, {4090, 100, 1, kNoLabel}};
  Catalog packed = flat.view();
  packed.whole = {};
  packed.parts = parts;
  EXPECT_EQ(page_bytes(packed, 1), 2 * 4096U);
  // Past the page cache blocks are read, which are less: not of these the cache had a share.
  EXPECT_EQ(page_bytes(packed, 512), 512U + 1024U);
  EXPECT_EQ(page_bytes(flat.view(), 512), 1024U + 5120U);
  flat.files[1].inode = flat.files[0].inode;  // names of one file
  flat.files[0].size = 5000;
  flat.extents[0].length = 2 * 4096;
  EXPECT_EQ(page_bytes(flat.view(), 1), 2 * 4096U);
}

TEST(DataFacts, HolesAndWhatIsUnwrittenAreNoPages) {
  support::FlatCatalog flat("/data");
  flat.add("hole", 10 * 4096U);
  flat.add("unwritten", 4096);
  flat.extents[0].file_offset = 2 * 4096U;
  flat.extents[0].length = 3 * 4096U;
  flat.extents[1].flags = kExtentUnwritten;
  for (const std::uint32_t align : {1U, 512U, 4096U}) {
    EXPECT_EQ(page_bytes(flat.view(), align), 3 * 4096U);
  }
}

TEST(RankRow, AClockThatDriftedIsAsFarOffAsItIsAtTheEnd) {
  RankRow row;
  row.clock_offset_ns = 1000;
  row.clock_error_ns = 50;
  EXPECT_EQ(error_since(row, 1700, 40), 740);
  EXPECT_EQ(error_since(row, 960, 40), 80);
  row.clock_error_ns = 0;  // one clock
  EXPECT_EQ(error_since(row, 1700, 40), 0);
}

// 64 samples in storage order, 8 of each label, and ranks with batches of 4.
RanksQuality quality_of(const std::vector<std::vector<std::uint64_t>>& of_rank) {
  std::vector<std::uint32_t> label(64), reference(64);
  for (std::uint32_t s = 0; s < 64; ++s) {
    label[s] = s / 8;
    reference[s] = s;
  }
  return quality_of_ranks(
      {.of_rank = of_rank, .samples = 64, .batch = 4, .reference = reference, .label = label});
}

TEST(RanksQuality, OfRanksThatTakeTurnsInOrderIsNothing) {
  std::vector<std::vector<std::uint64_t>> of_rank(2);
  for (std::uint32_t s = 0; s < 64; ++s) {
    of_rank[s % 2].push_back(at(s, s));
    of_rank[s % 2].push_back(at(64 + s, 63 - s));  // another epoch does not count
  }
  for (auto& one : of_rank) {
    std::ranges::sort(one);
  }
  const RanksQuality q = quality_of(of_rank);
  EXPECT_EQ(q.displacement, 0);
  EXPECT_EQ(q.rank_decorrelation, 0);
  EXPECT_EQ(q.neighbours_broken, 0);
  EXPECT_EQ(q.label_mix, 0);
}

TEST(RanksQuality, TheJoinedOrderIsLookedAtToItsEnd) {
  // In order up to the middle and backwards behind it, by two ranks that take turns.
  std::vector<std::uint32_t> joined(64), reference(64);
  std::iota(joined.begin(), joined.end(), 0U);
  std::iota(reference.begin(), reference.end(), 0U);
  std::reverse(joined.begin() + 32, joined.end());
  std::vector<std::vector<std::uint64_t>> of_rank(2);
  for (std::uint32_t place = 0; place < 64; ++place) {
    of_rank[place % 2].push_back(at(place, joined[place]));
  }
  const RanksQuality q = quality_of(of_rank);
  const ShuffleQuality one = shuffle_quality({.samples = joined, .rank = reference});
  EXPECT_EQ(q.displacement, one.displacement);
  EXPECT_EQ(q.rank_decorrelation, one.spearman);
  EXPECT_EQ(q.neighbours_broken, one.neighbours);
}

// Of one rank its batches are the steps; of ranks with unequal parts the last steps are of those
// that have some left.
TEST(RanksQuality, LabelsAreCountedInTheBatchesThatWereDelivered) {
  Rng rng(11);
  std::vector<std::uint32_t> order(64), reference(64), label(64);
  std::iota(order.begin(), order.end(), 0U);
  std::iota(reference.begin(), reference.end(), 0U);
  std::ranges::transform(order, label.begin(), [](std::uint32_t s) { return s / 8; });
  shuffle(std::span(order).first(40), rng);
  const auto mix = [&](std::span<const std::uint32_t> samples,
                       std::span<const std::uint32_t> begin) {
    return shuffle_quality(
               {.samples = samples, .batch_begin = begin, .rank = reference, .label = label})
        .label_mix;
  };
  std::vector<std::uint64_t> all;
  for (std::uint32_t place = 0; place < 64; ++place) {
    all.push_back(at(place, order[place]));
  }
  std::vector<std::uint32_t> batches;
  for (std::uint32_t from = 0; from <= 64; from += 4) {
    batches.push_back(from);
  }
  const RanksQuality one = quality_of({all});
  EXPECT_EQ(one.label_mix, mix(order, batches));
  EXPECT_EQ(one.rank_label_mix, one.label_mix);

  const auto split = all.begin() + 56;  // 14 steps of the first, 2 of the second
  const RanksQuality two = quality_of({{all.begin(), split}, {split, all.end()}});
  std::vector<std::uint32_t> together, steps{0};
  for (std::uint32_t step = 0; step < 14; ++step) {
    const auto take = [&](std::uint32_t from) {
      together.insert(together.end(), order.begin() + from, order.begin() + from + 4);
    };
    take(4 * step);
    if (step < 2) {
      take(56 + 4 * step);
    }
    steps.push_back(static_cast<std::uint32_t>(together.size()));
  }
  EXPECT_EQ(two.label_mix, mix(together, steps));
}

// What each has is well mixed with the others', and by itself of two of the eight labels.
TEST(RanksQuality, ARankThatSeesSomeLabelsOnlyIsSeen) {
  Rng rng(3);
  std::vector<std::vector<std::uint64_t>> of_rank(4);
  for (std::uint32_t r = 0; r < 4; ++r) {
    std::vector<std::uint32_t> mine(16);
    std::iota(mine.begin(), mine.end(), 16 * r);
    shuffle(std::span(mine), rng);
    for (std::uint32_t i = 0; i < 16; ++i) {
      of_rank[r].push_back(at(4 * i + r, mine[i]));
    }
  }
  const RanksQuality q = quality_of(of_rank);
  EXPECT_GT(q.rank_decorrelation.value_or(0), 0.6);
  EXPECT_GT(q.label_mix.value_or(0), 0.9);
  EXPECT_LT(q.rank_label_mix.value_or(1), 0.75);
}

TEST(KeptRanks, RowsOfTheSameSettingsHaveOneKeyWhateverTheirNumber) {
  RanksResult one, four;
  one.facts = R"({"data":"d","split":"batch","order":"lba","seed":1,"ranks":1,"samples":9})";
  four.facts = R"({"data":"d","split":"batch","order":"lba","seed":1,"ranks":4,"samples":9})";
  one.rows = {row_of(0, RankState::done)};
  four.rows = {row_of(0, RankState::done), row_of(1, RankState::lost)};
  four.fault = RankFault{1, "is gone", true};
  four.warnings = {"rank 0 on a: a CPU quota held it"};
  const RanksRow a = ranks_row(one, {}), b = ranks_row(four, {"", "0.1", "abc", "blksweep-mpi"});
  EXPECT_EQ(a.key, b.key);
  EXPECT_EQ(b.split, "batch");
  EXPECT_EQ(b.order, "lba");
  EXPECT_EQ(b.epoch_samples, 9U);
  EXPECT_EQ(b.ranks, 2U);
  EXPECT_FALSE(b.complete);
  EXPECT_NE(b.fault.find("is gone"), std::string::npos);
  EXPECT_EQ(b.argv, "blksweep-mpi");
  ASSERT_EQ(b.entries.size(), 2U);
  EXPECT_EQ(b.entries[1].state, "lost");
  for (const char* other :
       {R"({"data":"d","split":"shard","order":"lba","seed":1})",
        R"({"data":"d","data_identity":"7","split":"batch","order":"lba","seed":1})"}) {
    four.facts = other;
    EXPECT_NE(ranks_row(four, {}).key, a.key);
  }
}

TEST(KeptRanks, NumbersOfAResultAreThoseOfItsRow) {
  RanksResult result;
  result.facts = R"({"data":"d","split":"copy"})";
  result.quality = RanksQuality{0.1, 0.2, 0.3, 0.4, 0.5};
  RankRow one = row_of(0, RankState::done), two = row_of(1, RankState::done);
  one.waited_ns = 17;
  two.waited_ns = 40;
  result.rows = {one, two};
  const RanksRow row = ranks_row(result, {});
  EXPECT_EQ(row.quality_displacement, 0.1);
  EXPECT_EQ(row.quality_rank_decorrelation, 0.2);
  EXPECT_EQ(row.quality_neighbours_broken, 0.3);
  EXPECT_EQ(row.quality_label_mix, 0.4);
  EXPECT_EQ(row.quality_rank_label_mix, 0.5);
  EXPECT_EQ(row.waited_ns, join_rows(result.rows).waited_ns);
  EXPECT_GT(join_rows(result.rows).waited_ns, 0);
}

template <class T>
Json as_json(const Maybe<T>& value) {
  return or_null(value);
}
template <class T>
Json as_json(const T& value) {
  return value;
}

// A column and the key of the document that has its name, at the top or of all ranks together.
TEST(KeptRanks, EachColumnIsWhatTheDocumentSays) {
  RanksResult result;
  result.facts = R"({"data":"d","split":"copy","barrier":"batch","order":"lba","merge":"device",
                     "shuffle":"reservoir","window_scope":"node","samples":12})";
  result.proof = EmissionProof{.hash = "abc", .missing = 3, .duplicated = 4};
  result.rows = {row_of(0, RankState::done), row_of(1, RankState::done)};
  std::int64_t next = 1000;
  for (RankRow& r : result.rows) {
    r.samples = r.bytes = r.storage_bytes = 7 + r.rank;
    r.batches = 2 + r.rank;
    r.storage_known = 1;
    for (std::int64_t* time : {&r.first_ns, &r.waited_ns, &r.barrier_ns, &r.clock_error_ns}) {
      *time = next += 1000;
    }
    r.last_ns = next += 1'000'000;
  }
  const Json document = result_json(result);
  const RanksRow row = ranks_row(result, {});
  std::size_t compared = 0;
  each_ranks_column(row, [&](const std::string& column, const auto& value) {
    const std::string key = column == "read_order" ? "order" : column;
    const Json& joined = document["joined"];
    const bool top = document.contains(key) && !joined.contains(key);
    if (key != "fault" && (top || joined.contains(key))) {
      EXPECT_EQ(as_json(value), top ? document[key] : joined[key]) << column;
      ++compared;
    }
  });
  EXPECT_EQ(compared, 25U);
  EXPECT_EQ(row.epoch_samples, 12U);
}

TEST(KeptRanks, ComeBackFromTheDatabaseAsTheyWere) {
  const TempDir dir;
  RanksResult result;
  result.facts = R"({"data":"d","split":"copy"})";
  RankRow row = row_of(0, RankState::reading);
  row.samples = 7;
  row.last_ns = 99;
  result.rows = {row};
  const RanksDatabase where{dir.path("r.db"), "0.1", "abc", "argv"};
  ASSERT_TRUE(try_database(where));
  ASSERT_TRUE(keep_ranks(result, where));
  auto reader = ResultReader::open(where.path);
  ASSERT_TRUE(reader);
  const auto found = reader->ranks();
  ASSERT_TRUE(found) << found.error().message();
  ASSERT_EQ(found->size(), 1U);
  const RanksRow& back = found->front().row;
  EXPECT_EQ(back.document, json_line(result_json(result)));
  EXPECT_EQ(back.samples, 7U);
  ASSERT_EQ(back.entries.size(), 1U);
  EXPECT_EQ(back.entries[0].samples, 7U);
  EXPECT_EQ(back.entries[0].last_batch_ns, 99);
  EXPECT_EQ(back.missing_samples, std::nullopt);
}

TEST(KeptRanks, ADatabaseThatCannotBeIsNamed) {
  const Result<> tried = try_database({"/no/such/folder/r.db", "", "", ""});
  ASSERT_FALSE(tried);
  EXPECT_NE(tried.error().message().find("/no/such/folder"), std::string::npos);
  EXPECT_TRUE(try_database({}));
}

}  // namespace
}  // namespace blksweep
