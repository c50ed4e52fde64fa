// What runs changed on the node, in the database and in JSON.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "store/database.h"
#include "store/export/json.h"
#include "store/result_reader.h"
#include "store/result_store.h"
#include "support/demo_records.h"
#include "support/temp_dir.h"

namespace blksweep {
namespace {

RunRecord run_with_limits() {
  RunRecord run = demo_run(0);
  run.node = {{"scheduler", "bfq", "none mq-deadline kyber [bfq]", "none"},
              {"memory-limit", "67108864", "67108864", ""}};
  run.limit_use = LimitUseRecord{65'000'000, std::nullopt, 12};
  run.noise.emplace();
  run.noise->steal_ns = 7;
  run.noise->spin_after_cpu_ns = 8;
  return run;
}

// In a database of one cell, which is closed again.
void store_runs_at(const std::string& path, const std::vector<RunRecord>& runs) {
  auto store = ResultStore::open(path);
  ASSERT_TRUE(store);
  const auto cell =
      store->add_cell(*store->begin_experiment(demo_host(), "key"), demo_cell("lba", "none"));
  for (const RunRecord& run : runs) {
    ASSERT_TRUE(store->add_run(*cell, run));
  }
}

TEST(NodeStore, GivesBackAskedAndGot) {
  const TempDir dir;
  const std::string path = dir.path() + "/results.db";
  ASSERT_NO_FATAL_FAILURE(store_runs_at(path, {run_with_limits(), demo_run(1)}));
  auto reader = ResultReader::open(path);
  ASSERT_TRUE(reader);
  const auto runs = reader->runs(1);
  ASSERT_TRUE(runs) << runs.error().message();
  const RunRecord& run = runs->front().run;
  ASSERT_EQ(run.node.size(), 2U);
  EXPECT_EQ(run.node[0].name, "scheduler");
  EXPECT_EQ(run.node[0].asked, "bfq");
  EXPECT_EQ(run.node[0].got, "none mq-deadline kyber [bfq]");
  EXPECT_EQ(run.node[0].before, "none");
  EXPECT_EQ(run.node[1].name, "memory-limit") << "in the order in which they were set";
  ASSERT_TRUE(run.noise);
  EXPECT_EQ(run.noise->steal_ns, 7);
  EXPECT_EQ(run.noise->throttled_ns, std::nullopt) << "unknown, not 0";
  EXPECT_EQ(run.noise->spin_after_cpu_ns, 8);
  ASSERT_TRUE(run.limit_use);
  EXPECT_EQ(run.limit_use->cache_peak_bytes, 65'000'000U);
  EXPECT_EQ(run.limit_use->memory_peak_bytes, std::nullopt) << "unknown, not 0";
  EXPECT_EQ(run.limit_use->limit_hits, 12U);
  EXPECT_TRUE(runs->back().run.node.empty());
  EXPECT_FALSE(runs->back().run.limit_use);
}

TEST(NodeStore, SettingsCountFromZero) {
  const TempDir dir;
  const std::string path = dir.path() + "/results.db";
  ASSERT_NO_FATAL_FAILURE(store_runs_at(path, {run_with_limits()}));
  auto db = Database::open(path, Database::Mode::existing);
  ASSERT_TRUE(db) << db.error().message();
  auto first = db->prepare("SELECT name FROM node_setting WHERE position = 0");
  ASSERT_TRUE(first && first->step().value_or(false));
  std::string name;
  first->read(name);
  EXPECT_EQ(name, "scheduler");
}

// A run's row beside it names the run: those before it may have none.
TEST(ResultStoreRows, WhatOnlyTheSecondRunHasIsTheSecondRuns) {
  const TempDir dir;
  const std::string path = dir.path() + "/results.db";
  RunRecord without = demo_run(0);
  without.page_cache.reset();
  ASSERT_NO_FATAL_FAILURE(store_runs_at(path, {without, demo_run(1)}));
  auto reader = ResultReader::open(path);
  ASSERT_TRUE(reader);
  const auto runs = reader->runs(1);
  ASSERT_TRUE(runs) << runs.error().message();
  ASSERT_EQ(runs->size(), 2U);
  EXPECT_FALSE(runs->front().run.page_cache);
  EXPECT_TRUE(runs->back().run.page_cache);
}

// A new database, and what somebody does to it.
std::string made_and(const TempDir& dir, const char* sql) {
  const std::string path = dir.path() + "/results.db";
  EXPECT_TRUE(ResultStore::open(path));
  sqlite3* db = nullptr;
  EXPECT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(db, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
  sqlite3_close(db);
  return path;
}

// Written by somebody else under our version number: its columns may mean anything.
TEST(ResultStoreRows, ATableThatIsNotAsWeMakeItIsRefused) {
  const TempDir dir;
  const std::string path = made_and(dir, "ALTER TABLE node_setting ADD COLUMN more TEXT");
  const auto store = ResultStore::open(path);
  ASSERT_FALSE(store);
  EXPECT_NE(store.error().message().find("node_setting is not as this blksweep makes it"),
            std::string::npos);
  EXPECT_FALSE(ResultReader::open(path));
}

TEST(ResultStoreRows, ATableWhoseCommentsSayItInOtherWordsIsTheSame) {
  const TempDir dir;
  const std::string path =
      made_and(dir,
               "PRAGMA writable_schema = 1;"
               "UPDATE sqlite_master SET sql = replace(sql, '-- ', '   -- put otherwise: ');");
  EXPECT_TRUE(ResultStore::open(path));
  EXPECT_TRUE(ResultReader::open(path));
}

TEST(ResultStoreRows, ATableWhoseColumnMayBeNullIsNot) {
  const TempDir dir;
  const std::string path = made_and(dir,
                                    "PRAGMA writable_schema = 1;"
                                    "UPDATE sqlite_master SET sql = replace(sql, ' NOT NULL', '')"
                                    " WHERE name = 'stopping'");
  EXPECT_FALSE(ResultStore::open(path));
  EXPECT_FALSE(ResultReader::open(path));
}

TEST(NodeStore, JsonHasThem) {
  const Json with = run_json(demo_cell("lba", "none"), run_with_limits());
  EXPECT_EQ(with["node"][0]["asked"], "bfq");
  EXPECT_EQ(with["node"][1]["got"], "67108864");
  EXPECT_EQ(with["limit_use"]["cache_peak_bytes"], 65'000'000);
  EXPECT_TRUE(with["limit_use"]["memory_peak_bytes"].is_null());
  const Json without = run_json(demo_cell("lba", "none"), demo_run(0));
  EXPECT_TRUE(without["node"].empty());
  EXPECT_TRUE(without["limit_use"].is_null());
}

}  // namespace
}  // namespace blksweep
