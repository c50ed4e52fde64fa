// What a report is made of is of one moment of its database, though a sweep goes on writing.
#include <gtest/gtest.h>

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

TEST(Moment, IsCopiedNowhereWithoutAFolder) {
  const TempDir dir;
  ASSERT_TRUE(ResultStore::open(dir.path("r.db")));
  auto moment = ResultReader::open_moment(dir.path("r.db")).value();
  EXPECT_FALSE(moment.copy_to(dir.path("none/copy.db")));
}

}  // namespace
}  // namespace blksweep
