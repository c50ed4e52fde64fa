// Latency maps: the parts of ResultStore and ResultReader that know the tables map, map_read,
// map_curve and map_warning.
#include <fmt/format.h>

#include <algorithm>

#include "store/insert.h"
#include "store/result_reader.h"
#include "store/result_store.h"
#include "store/schema/run_columns.h"
#include "store/select.h"
#include "store/summary/series.h"

namespace blksweep {
namespace {

Result<> insert_reads(Database& db, std::int64_t map, const std::vector<MapRead>& reads) {
  BLKSWEEP_TRY(Statement insert, db.prepare("INSERT INTO map_read VALUES (?, ?, ?, ?)"));
  for (const MapPart part : kMapParts) {
    const auto records = std::ranges::count(reads, part, &MapRead::part);
    if (records == 0) {
      continue;
    }
    insert.bind(map);
    insert.bind(to_string(part));
    insert.bind(records);
    insert.bind_blob(encode_reads(reads, part));
    BLKSWEEP_CHECK(insert.step());
    insert.reset();
  }
  return {};
}

Result<> insert_derived(Database& db, std::int64_t map, const MapRecord& record) {
  for (const MapCurvePoint& p : record.curves) {
    Insert row("map_curve");
    row("map_id", map);
    row("kind", p.kind);
    row("x", p.x);
    row("y", p.y);
    BLKSWEEP_CHECK(row.into(db));
  }
  std::int64_t position = 0;
  for (const std::string& text : record.warnings) {
    Insert row("map_warning");
    row("map_id", map);
    row("position", position++);
    row("text", text);
    BLKSWEEP_CHECK(row.into(db));
  }
  return {};
}

Result<> read_derived(Database& db, StoredMap& stored) {
  BLKSWEEP_TRY(Statement curves,
               db.prepare("SELECT kind, x, y FROM map_curve WHERE map_id = ? ORDER BY kind, x"));
  curves.bind(stored.id);
  BLKSWEEP_CHECK(for_each_row(curves, [&stored](Statement& row) {
    MapCurvePoint& p = stored.record.curves.emplace_back();
    row.read(p.kind);
    row.read(p.x);
    row.read(p.y);
  }));
  BLKSWEEP_TRY(Statement warnings,
               db.prepare("SELECT text FROM map_warning WHERE map_id = ? ORDER BY position"));
  warnings.bind(stored.id);
  return for_each_row(
      warnings, [&stored](Statement& row) { row.read(stored.record.warnings.emplace_back()); });
}

Result<bool> has_maps(Database& db) {
  BLKSWEEP_TRY(Statement query, db.prepare("SELECT 1 FROM sqlite_master WHERE name = 'map'"));
  return query.step();
}

}  // namespace

Result<std::int64_t> ResultStore::add_map(const MapRecord& record) {
  BLKSWEEP_TRY(Transaction transaction, Transaction::begin(db_));
  Insert row("map");
  each_map_column(record, row);
  BLKSWEEP_CHECK(row.into(db_));
  const std::int64_t id = db_.last_id();
  BLKSWEEP_CHECK(insert_reads(db_, id, record.map.reads));
  BLKSWEEP_CHECK(insert_derived(db_, id, record));
  BLKSWEEP_CHECK(transaction.commit());
  return id;
}

Result<std::vector<StoredMap>> ResultReader::maps() {
  std::vector<StoredMap> found;
  BLKSWEEP_TRY(const bool there, has_maps(db_));
  if (!there) {
    return found;
  }
  ColumnNames names;
  MapRecord none;
  each_map_column(none, names);
  BLKSWEEP_TRY(Statement query, db_.prepare(fmt::format(
                                    "SELECT map_id, {} FROM map ORDER BY map_id", names.text())));
  BLKSWEEP_CHECK(for_each_row(query, [&found](Statement& row) {
    StoredMap& m = found.emplace_back();
    row.read(m.id);
    each_map_column(m.record, RowReader(row));
  }));
  for (StoredMap& m : found) {
    BLKSWEEP_CHECK(read_derived(db_, m));
  }
  return found;
}

Result<std::vector<MapRead>> ResultReader::map_reads(std::int64_t map) {
  BLKSWEEP_TRY(Statement query, db_.prepare("SELECT part, data FROM map_read WHERE map_id = ?"));
  query.bind(map);
  std::vector<MapRead> reads;
  BLKSWEEP_CHECK(for_each_row(query, [&reads](Statement& row) {
    std::string part, data;
    row.read(part);
    row.read(data);
    if (const auto known = map_part(part)) {
      const std::vector<MapRead> more = decode_reads(data, *known);
      reads.insert(reads.end(), more.begin(), more.end());
    }
  }));
  std::ranges::stable_sort(reads, {}, &MapRead::begin_ns);
  return reads;
}

}  // namespace blksweep
