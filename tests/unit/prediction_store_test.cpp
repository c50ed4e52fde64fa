// Predictions and labels of disks in the database.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "store/result_reader.h"
#include "store/result_store.h"
#include "store/schema.h"
#include "support/demo_records.h"
#include "support/temp_dir.h"

namespace blksweep {
namespace {

class PredictionStore : public ::testing::Test {
 protected:
  // The first column of the first row.
  std::string sqlite_text(const std::string& sql) const {
    sqlite3* db = nullptr;
    std::string text;
    EXPECT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
    const auto keep = [](void* to, int, char** values, char**) {
      *static_cast<std::string*>(to) = values[0];
      return 1;
    };
    sqlite3_exec(db, sql.c_str(), keep, &text, nullptr);
    sqlite3_close(db);
    return text;
  }

  TempDir dir_;
  const std::string path_ = dir_.path() + "/results.db";
};

TEST_F(PredictionStore, AnotherOfTheSameModelTakesThePlaceOfTheFirst) {
  auto store = ResultStore::open(path_);
  ASSERT_TRUE(store);
  const auto experiment = store->begin_experiment(demo_host(), "key");
  const auto cell = store->add_cell(*experiment, demo_cell("lba", "none"));
  const auto run = store->add_run(*cell, demo_run(0));
  ASSERT_TRUE(run) << run.error().message();
  PredictionRecord p{.model = "hdd-7200", .model_hash = "abc", .epoch_ns = 5, .requests = 7};
  ASSERT_TRUE(store->attach_prediction(*run, p));
  p.epoch_ns = 6;
  p.error = -0.25;
  ASSERT_TRUE(store->attach_prediction(*run, p));
  const auto runs = ResultReader::open(path_)->runs(1);
  ASSERT_TRUE(runs && runs->front().run.prediction);
  EXPECT_EQ(runs->front().run.prediction->epoch_ns, 6);
  EXPECT_EQ(runs->front().run.prediction->error, -0.25);
  EXPECT_EQ(runs->front().run.prediction->depth_mean, std::nullopt);
  EXPECT_EQ(sqlite_text("SELECT count(*) FROM prediction"), "1");
}

TEST_F(PredictionStore, TheNewestOfSeveralModelsIsARunsPrediction) {
  auto store = ResultStore::open(path_);
  ASSERT_TRUE(store);
  HostRecord host = demo_host();
  host.device_label = "the fast one";
  const auto experiment = store->begin_experiment(host, "key");
  const auto cell = store->add_cell(*experiment, demo_cell("lba", "none"));
  RunRecord record = demo_run(0);
  record.prediction = PredictionRecord{.model = "a", .model_hash = "1", .epoch_ns = 1};
  const auto run = store->add_run(*cell, record);
  ASSERT_TRUE(run) << run.error().message();
  ASSERT_TRUE(store->attach_prediction(*run, {.model = "b", .model_hash = "2", .epoch_ns = 2}));
  auto reader = ResultReader::open(path_);
  ASSERT_TRUE(reader);
  const auto runs = reader->runs(*experiment);
  ASSERT_TRUE(runs && runs->size() == 1);
  EXPECT_EQ(runs->front().run.prediction.value_or(PredictionRecord{}).model, "b");
  const auto experiments = reader->experiments();
  ASSERT_TRUE(experiments);
  EXPECT_EQ(experiments->front().host.device_label, "the fast one");
}

}  // namespace
}  // namespace blksweep
