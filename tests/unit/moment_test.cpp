// What a report is made of is of one moment of its database, though a sweep goes on writing.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <optional>

#include "store/result_reader.h"
#include "store/result_store.h"
#include "support/demo_records.h"
#include "support/temp_dir.h"

namespace blksweep {
namespace {

std::size_t runs_in(const std::string& path) {
  return ResultReader::open(path).value().runs(1).value().size();
}

TEST(Moment, IsCopiedWhileASweepWaits) {
  const TempDir dir;
  const std::string path = dir.path("r.db"), copy = dir.path("copy.db");
  auto store = ResultStore::open(path, std::chrono::milliseconds(1)).value();
  const auto experiment = store.begin_experiment(demo_host(), "key").value();
  const auto cell = store.add_cell(experiment, demo_cell("lba", "device")).value();
  ASSERT_TRUE(store.add_run(cell, demo_run(0)));
  {
    auto moment = ResultReader::open_moment(path).value();
    EXPECT_FALSE(
        store.begin_session(experiment, CommandRecord{}));  // it would be of another moment
    EXPECT_EQ(moment.runs(1).value().size(), 1U);
    ASSERT_TRUE(moment.copy_to(copy));
  }
  ASSERT_TRUE(store.add_run(cell, demo_run(1)));
  EXPECT_EQ(runs_in(path), 2U);
  EXPECT_EQ(runs_in(copy), 1U);
}

// A report of a large database reads for longer than two seconds.
TEST(Moment, IsWaitedForByResultsThatTookLongToMake) {
  const TempDir dir;
  auto store = ResultStore::open(dir.path("r.db")).value();
  const auto experiment = store.begin_experiment(demo_host(), "key").value();
  auto moment = std::optional(ResultReader::open_moment(dir.path("r.db")).value());
  auto kept = std::async(std::launch::async, [&] {
    return store.add_ceiling(experiment, CeilingRecord{}).has_value();
  });
  EXPECT_EQ(kept.wait_for(std::chrono::milliseconds(2200)), std::future_status::timeout);
  moment.reset();
  EXPECT_TRUE(kept.get());
}

TEST(Moment, IsCopiedNowhereWithoutAFolder) {
  const TempDir dir;
  ASSERT_TRUE(ResultStore::open(dir.path("r.db")));
  auto moment = ResultReader::open_moment(dir.path("r.db")).value();
  EXPECT_FALSE(moment.copy_to(dir.path("none/copy.db")));
}

}  // namespace
}  // namespace blksweep
