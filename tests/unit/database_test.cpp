#include "store/database.h"

#include <gtest/gtest.h>

#include <utility>

namespace blksweep {
namespace {

TEST(Database, AnErrorOfSqliteAloneIsInItsWords) {
  Database db = Database::in_memory().value();
  const auto query = db.prepare("SELECT absent");
  ASSERT_FALSE(query);
  EXPECT_EQ(query.error().text, db.name() + ": no such column: absent");
}

TEST(Database, AStatementThatFailedCanBeUsedAgain) {
  Database db = Database::in_memory().value();
  ASSERT_TRUE(db.exec("CREATE TABLE t (x INTEGER UNIQUE)"));
  Statement insert = db.prepare("INSERT INTO t VALUES (?)").value();
  for (const auto& [value, fits] : {std::pair{1, true}, {1, false}, {2, true}}) {
    insert.bind(value);
    EXPECT_EQ(insert.step().has_value(), fits) << value;
    if (fits) {
      insert.reset();
    }
  }
}

}  // namespace
}  // namespace blksweep
