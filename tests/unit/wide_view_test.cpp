// run_wide has a column for every setting that a cell can have.
#include "store/schema/wide_view.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <set>
#include <sstream>
#include <string>

#include "cli/run/cell_options.h"
#include "store/result_store.h"
#include "support/demo_records.h"
#include "support/temp_dir.h"

namespace blksweep {
namespace {

std::set<std::string> names_of_all_cells() {
  CellSettings cell;
  cell.order = Order::chunked;
  cell.control = Control::same;
  cell.order_asked = Order::lba;
  cell.merge_asked = Merge::device;
  cell.addresses_refused = true;
  std::set<std::string> names;
  for (const auto& [name, value] : describe(cell)) {
    names.insert(name);
  }
  return names;
}

TEST(WideView, HasAColumnForEverySettingOfACell) {
  std::set<std::string> known;
  std::istringstream words(kWideView);
  for (std::string word, before; words >> word; before = word) {
    if (before == "WHEN" && word.starts_with("'")) {
      known.insert(word.substr(1, word.size() - 2));
    }
  }
  EXPECT_EQ(names_of_all_cells(), known)
      << "a setting is missing in src/store/schema/wide_view.cpp, or is there no more";
}

// Rows of one text each, behind one another.
std::string answer_of(const std::string& path, const std::string& question) {
  std::string answer;
  sqlite3* db = nullptr;
  EXPECT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  const auto add = [](void* to, int, char** values, char**) {
    *static_cast<std::string*>(to) += std::string(values[0] == nullptr ? "NULL" : values[0]) + " ";
    return 0;
  };
  EXPECT_EQ(sqlite3_exec(db, question.c_str(), add, &answer, nullptr), SQLITE_OK) << question;
  sqlite3_close(db);
  return answer;
}

TEST(Views, HaveTheRatesOfRunsThatTookTimeAndGoodOnesWereComplete) {
  const TempDir dir;
  auto store = ResultStore::open(dir.path("r.db"));
  ASSERT_TRUE(store) << store.error().message();
  const auto experiment = store->begin_experiment(demo_host(), "key");
  const auto cell = store->add_cell(*experiment, demo_cell("lba", "device"));
  RunRecord run = demo_run(0);
  run.samples = 8;
  run.bytes = 4096;
  for (const std::int64_t epoch_ns : {2'000'000'000LL, 1LL, 0LL, 4LL}) {
    run.epoch_ns = epoch_ns;
    run.incomplete = epoch_ns == 4;
    ASSERT_TRUE(store->add_run(*cell, run));
    ++run.repeat;
  }
  const auto ask = [&](const std::string& what) { return answer_of(dir.path("r.db"), what); };
  for (const std::string rate : {"samples", "bytes"}) {
    const std::string asked = "SELECT CAST(" + rate + "_per_s AS INTEGER) FROM ";
    const std::string whole = rate == "samples" ? "4 8000000000 " : "2048 4096000000000 ";
    const std::string partial = rate == "samples" ? "2000000000 " : "1024000000000 ";
    EXPECT_EQ(ask(asked + "good_run ORDER BY repeat"), whole);
    EXPECT_EQ(ask(asked + "run_wide ORDER BY repeat"), whole + "NULL " + partial);
  }
}

}  // namespace
}  // namespace blksweep
