// What happened to batches, written and read again.
#include "store/batch_store.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/rng.h"
#include "store/schema/schema.h"
#include "support/demo_records.h"

namespace blksweep {
namespace {

class BatchStore : public ::testing::Test {
 protected:
  BatchStore() : db_(Database::in_memory().value()) {
    EXPECT_TRUE(create_schema(db_) && db_.exec("PRAGMA foreign_keys = OFF"));
  }
  std::vector<BatchRecord> back() { return read_batches(db_, 7).value(); }
  std::string refusal() {
    const auto batches = read_batches(db_, 7);
    return batches ? "" : batches.error().message();
  }

  Database db_;
};

BatchRecord some_batch(Rng& rng) {
  const auto time = [&rng] { return static_cast<std::int64_t>(rng.below(1'000'000)); };
  BatchRecord b{.samples = static_cast<std::uint32_t>(rng.below(300)),
                .bytes = rng.below(1 << 30),
                .decoded_bytes = std::nullopt,
                .times = {.stages = {}, .consumed = time()}};
  for (std::size_t s = 0; s < kStages; ++s) {
    if (s == static_cast<std::size_t>(Stage::read) || rng.below(2) == 0) {
      b.times.stages[s] = StageTimes{{time(), time()}, time()};
    }
  }
  if (b.times[Stage::decode]) {
    b.decoded_bytes = rng.below(1 << 30);
  }
  return b;
}

TEST_F(BatchStore, GivesBackWhateverStagesABatchPassed) {
  Rng rng(1);
  RunRecord run;
  for (int b = 0; b < 200; ++b) {
    run.batches.push_back(some_batch(rng));
    run.read_waits.push_back({{b, b + 1}, static_cast<std::uint32_t>(b)});
  }
  ASSERT_TRUE(insert_batches(db_, 7, run));
  EXPECT_EQ(back(), run.batches);
  EXPECT_EQ(read_waits(db_, 7).value(), run.read_waits);
  EXPECT_TRUE(read_batches(db_, 8).value().empty()) << "of another run";
}

TEST_F(BatchStore, BatchesThatMeanNothingAreNamed) {
  ASSERT_TRUE(insert_batches(db_, 7, demo_run(0)));
  ASSERT_TRUE(db_.exec("UPDATE batch_stage SET stage = 'augment' WHERE stage = 'copy'"));
  EXPECT_EQ(refusal(), "a batch has a stage \"augment\", which this version does not know");
  ASSERT_TRUE(db_.exec("DELETE FROM batch_stage WHERE stage IN ('augment', 'read')"));
  EXPECT_EQ(refusal(), "batch 0 of run 7 has no read");
}

}  // namespace
}  // namespace blksweep
