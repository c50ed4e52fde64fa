#include "store/insert.h"

#include <fmt/format.h>

namespace blksweep {

Result<> Insert::into(Database& db) const {
  BLKSWEEP_TRY(Statement insert,
               db.prepare(fmt::format("INSERT OR REPLACE INTO {} ({}) VALUES ({})", table_,
                                      columns_, marks_)));
  for (const auto& bind : binders_) {
    bind(insert);
  }
  BLKSWEEP_CHECK(insert.step());
  return {};
}

}  // namespace blksweep
