#include "store/cache_store.h"

#include "store/record_rows.h"
#include "store/schema/cache_columns.h"

namespace blksweep {
namespace {

constexpr auto kCache = [](auto& record, auto&& f) { each_page_cache_column(record, f); };
constexpr auto kFile = [](auto& record, auto&& f) { each_page_cache_file_column(record, f); };

}  // namespace

Result<> insert_page_cache(Database& db, std::int64_t run, const Maybe<CacheRecord>& record) {
  BLKSWEEP_CHECK(insert_one(db, run, "page_cache", record, kCache));
  return record ? insert_rows(db, "page_cache_file", run, record->files, kFile) : Result<>();
}

Result<Maybe<CacheRecord>> read_page_cache(Database& db, std::int64_t run) {
  Maybe<CacheRecord> found;
  BLKSWEEP_CHECK(read_one(db, run, "page_cache", found, kCache));
  if (found) {
    BLKSWEEP_CHECK(read_rows(db, "page_cache_file", run, found->files, kFile));
  }
  return found;
}

}  // namespace blksweep
