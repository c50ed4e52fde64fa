#include "store/database.h"

#include <gtest/gtest.h>

namespace blksweep {
namespace {

TEST(Database, AnErrorOfSqliteAloneIsInItsWords) {
  Database db = Database::in_memory().value();
  const auto query = db.prepare("SELECT absent");
  ASSERT_FALSE(query);
  EXPECT_EQ(query.error().text, db.name() + ": no such column: absent");
}

}  // namespace
}  // namespace blksweep
