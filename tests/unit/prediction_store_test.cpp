// Predictions, labels and replays in the database.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "store/database.h"
#include "store/result_reader.h"
#include "store/result_store.h"
#include "store/schema/run_columns.h"
#include "store/schema/schema.h"
#include "store/summary/labels.h"
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

TEST_F(PredictionStore, ALabelIsOfTheDiskThatItWasGiven) {
  auto store = ResultStore::open(path_);
  ASSERT_TRUE(store);
  const std::vector<std::string> labels{"", "fast", "", "slow"};
  for (const std::string& label : labels) {
    HostRecord host = demo_host();
    host.device_label = label;
    ASSERT_TRUE(store->begin_experiment(host, std::to_string(&label - labels.data())));
  }
  const auto found = ResultReader::open(path_)->experiments();
  ASSERT_TRUE(found);
  std::vector<std::string> got;
  std::ranges::transform(*found, std::back_inserter(got),
                         [](const auto& e) { return e.host.device_label; });
  EXPECT_EQ(got, labels);
}

TEST_F(PredictionStore, AnAccountIsOfTheRunThatItWasGivenWith) {
  auto store = ResultStore::open(path_);
  ASSERT_TRUE(store);
  const auto experiment = store->begin_experiment(demo_host(), "key");
  const auto cell = store->add_cell(*experiment, demo_cell("lba", "none"));
  for (const std::int64_t wall : {0, 0, 7, 0, 9}) {  // 0: without one
    RunRecord run = demo_run(0);
    AccountRecord account;
    account.wall_ns = wall;
    account.phases = {{"read", wall + 1}};
    run.account = wall > 0 ? Maybe<AccountRecord>(account) : std::nullopt;
    ASSERT_TRUE(store->add_run(*cell, run));
  }
  const auto runs = ResultReader::open(path_)->runs(*experiment);
  ASSERT_TRUE(runs) << runs.error().message();
  ASSERT_EQ(runs->size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) {
    const auto& account = (*runs)[i].run.account;
    ASSERT_EQ(account.has_value(), i == 2 || i == 4) << i;
    if (account) {
      EXPECT_EQ(account->wall_ns, i == 2 ? 7 : 9);
      EXPECT_EQ(account->phases.at(0).second, account->wall_ns + 1);
    }
  }
}

// A value of its own in each column, from `n` on.
ReplayRow replay_row_from(std::uint64_t n) {
  ReplayRow row;
  each_replay_column(row, [&n]<class T>(const char* /*name*/, T& value) {
    ++n;
    if constexpr (std::is_same_v<T, std::string>) {
      value = "text " + std::to_string(n);
    } else {
      value = static_cast<T>(static_cast<std::int64_t>(n));
    }
  });
  return row;
}

std::string text_of_row(ReplayRow row) {
  std::string text;
  each_replay_column(row, [&text]<class T>(const char* name, T& value) {
    if constexpr (std::is_same_v<T, Maybe<std::int64_t>>) {
      text += fmt::format("{} {}\n", name, value.value_or(-1));
    } else {
      text += fmt::format("{} {}\n", name, value);
    }
  });
  return text;
}

TEST_F(PredictionStore, ReplaysComeBackAsTheyWereOldestFirst) {
  auto store = ResultStore::open(path_);
  ASSERT_TRUE(store);
  std::vector<ReplayRow> rows{replay_row_from(100), replay_row_from(200), ReplayRow{}};
  for (const ReplayRow& row : rows) {
    ASSERT_TRUE(store->add_replay(row));
  }
  const auto stored = ResultReader::open(path_)->replays();
  ASSERT_TRUE(stored) << stored.error().message();
  ASSERT_EQ(stored->size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ((*stored)[i].id, static_cast<std::int64_t>(i) + 1);
    EXPECT_EQ(text_of_row((*stored)[i].row), text_of_row(rows[i]));
  }
}

TEST_F(PredictionStore, ACurveOfAReplayIsStoredPointByPoint) {
  auto store = ResultStore::open(path_);
  ASSERT_TRUE(store);
  ReplayRow row = replay_row_from(100);
  row.curves = {{"lateness", 0.5, 12.25}, {"lateness", 0.99, 40}, {"rate", 1, 3}};
  ASSERT_TRUE(store->add_replay(row));
  auto db = Database::open(path_, Database::Mode::existing);
  ASSERT_TRUE(db);
  auto points = db->prepare(
      "SELECT group_concat(replay_id || ' ' || kind || ' ' || x || ' ' || y) FROM replay_curve");
  ASSERT_TRUE(points);
  ASSERT_TRUE(points->step());
  std::string text;
  points->read(text);
  EXPECT_EQ(text, "1 lateness 0.5 12.25,1 lateness 0.99 40.0,1 rate 1.0 3.0");
}

// Also those that differ only in what goes without saying, behind one that has its own name.
TEST(CellLabels, AreDifferentWhereAnyTwoCellsAre) {
  const auto of = [](const char* order, const char* window) {
    return CellRecord{{{"order", order}, {"shuffle", "none"}, {"window", window}}};
  };
  const auto labels =
      cell_labels({of("random", "2%"), of("lba", "2%"), of("lba", "9%"), of("lba", "5%")});
  EXPECT_EQ(std::set<std::string>(labels.begin(), labels.end()).size(), 4U);
}

}  // namespace
}  // namespace blksweep
