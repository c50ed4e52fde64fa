// Predictions and labels of disks in the database, and files from before they were there.
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

// Before version 5 a run's seeks had to be a number.
TEST_F(PredictionStore, AFileOfVersionThreeKeepsItsRunsAndTakesOneWhoseSeeksAreUnknown) {
  RunRecord unknown = demo_run(1);
  unknown.seeks = std::nullopt;
  std::int64_t cell = 0;
  {
    auto store = ResultStore::open(path_);
    const auto experiment = store->begin_experiment(demo_host(), "key");
    cell = *store->add_cell(*experiment, demo_cell("lba", "none"));
    ASSERT_TRUE(store->add_run(cell, demo_run(0)));
  }
  sqlite_text(
      "PRAGMA writable_schema = ON;"
      "UPDATE sqlite_schema SET sql = replace(sql, 'seeks           INTEGER',"
      " 'seeks           INTEGER NOT NULL') WHERE name = 'run';"
      "DROP TABLE account; DROP TABLE account_lane; DROP TABLE account_stall;"
      "DROP TABLE account_phase; DROP TABLE read_wait; DROP TABLE batch_staging;"
      "DROP TABLE copy_cost; DROP TABLE batch_decode; PRAGMA user_version = 3");
  ASSERT_EQ(sqlite_text("SELECT \"notnull\" FROM pragma_table_info('run') WHERE name = 'seeks'"),
            "1");
  auto store = ResultStore::open(path_);
  ASSERT_TRUE(store) << store.error().message();
  const auto added = store->add_run(cell, unknown);
  ASSERT_TRUE(added) << added.error().message();
  EXPECT_EQ(sqlite_text("PRAGMA user_version"), std::to_string(kSchemaVersion));
  EXPECT_EQ(sqlite_text("PRAGMA integrity_check"), "ok");
  const auto runs = ResultReader::open(path_)->runs(1);
  ASSERT_TRUE(runs);
  ASSERT_EQ(runs->size(), 2U);
  EXPECT_EQ(runs->front().run.seeks, demo_run(0).seeks);
  EXPECT_FALSE(runs->back().run.seeks);
}

// What version 1 was: this version without the tables that later ones add.
TEST_F(PredictionStore, ReadsAFileOfVersionOneAndWritingMakesItOneOfToday) {
  std::int64_t run = 0;
  {
    auto store = ResultStore::open(path_);
    ASSERT_TRUE(store);
    const auto experiment = store->begin_experiment(demo_host(), "key");
    ASSERT_TRUE(experiment);
    const auto cell = store->add_cell(*experiment, demo_cell("lba", "none"));
    ASSERT_TRUE(cell);
    const auto id = store->add_run(*cell, demo_run(0));
    ASSERT_TRUE(id) << id.error().message();
    run = *id;
  }
  sqlite_text(
      "DROP TABLE prediction; DROP TABLE disk; DROP TABLE map; DROP TABLE map_read;"
      "DROP TABLE map_curve; DROP TABLE map_warning; DROP TABLE node_setting; DROP TABLE limit_use;"
      "DROP TABLE account; DROP TABLE account_lane; DROP TABLE account_stall;"
      "DROP TABLE account_phase; DROP TABLE read_wait; DROP TABLE batch_staging;"
      "DROP TABLE copy_cost; DROP TABLE batch_decode;"
      "PRAGMA user_version = 1");
  {
    auto reader = ResultReader::open(path_);
    ASSERT_TRUE(reader) << reader.error().message();
    const auto runs = reader->runs(1);
    ASSERT_TRUE(runs) << runs.error().message();
    ASSERT_EQ(runs->size(), 1U);
    EXPECT_FALSE(runs->front().run.prediction);
    const auto maps = reader->maps();
    ASSERT_TRUE(maps) << maps.error().message();
    EXPECT_TRUE(maps->empty());
  }
  EXPECT_EQ(sqlite_text("PRAGMA user_version"), "1") << "reading changes nothing";
  auto store = ResultStore::open(path_);
  ASSERT_TRUE(store) << store.error().message();
  EXPECT_EQ(sqlite_text("PRAGMA user_version"), std::to_string(kSchemaVersion));
  PredictionRecord p;
  p.model = "hdd-7200";
  p.model_hash = "abc";
  p.epoch_ns = 5;
  p.requests = 7;
  ASSERT_TRUE(store->attach_prediction(run, p));
  p.epoch_ns = 6;
  p.error = -0.25;
  ASSERT_TRUE(store->attach_prediction(run, p)) << "of the same model: replaced";
  auto reader = ResultReader::open(path_);
  const auto runs = reader->runs(1);
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
