#include "store/result_reader.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "store/account_store.h"
#include "store/batch_store.h"
#include "store/cache_store.h"
#include "store/request_store.h"
#include "store/schema/run_columns.h"
#include "store/schema/schema.h"
#include "store/select.h"
#include "store/summary/series.h"

namespace blksweep {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

Result<Pairs> read_pairs(Database& db, const std::string& sql, std::int64_t id) {
  BLKSWEEP_TRY(Statement query, db.prepare(sql));
  query.bind(id);
  Pairs pairs;
  BLKSWEEP_CHECK(for_each_row(query, [&pairs](Statement& row) {
    auto& [name, value] = pairs.emplace_back();
    row.read(name);
    row.read(value);
  }));
  return pairs;
}

Result<std::vector<CeilingRecord>> read_ceilings(Database& db, std::int64_t experiment) {
  ColumnNames names;
  CeilingRecord none;
  each_ceiling_column(none, names);
  BLKSWEEP_TRY(Statement query,
               db.prepare(fmt::format(
                   "SELECT {} FROM ceiling WHERE experiment_id = ? ORDER BY rowid", names.text())));
  query.bind(experiment);
  std::vector<CeilingRecord> ceilings;
  BLKSWEEP_CHECK(for_each_row(query, [&ceilings](Statement& row) {
    each_ceiling_column(ceilings.emplace_back(), RowReader(row));
  }));
  return ceilings;
}

Result<Maybe<StoppingRecord>> read_stopping(Database& db, std::int64_t experiment) {
  ColumnNames names;
  StoppingRecord record;
  each_stopping_column(record, names);
  BLKSWEEP_TRY(Statement query, db.prepare(fmt::format(
                                    "SELECT {} FROM stopping JOIN session USING (session_id) WHERE "
                                    "experiment_id = ? ORDER BY session_id DESC LIMIT 1",
                                    names.text())));
  query.bind(experiment);
  Maybe<StoppingRecord> found;
  BLKSWEEP_CHECK(for_each_row(
      query, [&found](Statement& row) { each_stopping_column(found.emplace(), RowReader(row)); }));
  return found;
}

Result<std::vector<LayerFactRecord>> read_layers(Database& db, std::int64_t experiment) {
  BLKSWEEP_TRY(Statement query, db.prepare("SELECT disk, name, value FROM layer_fact WHERE "
                                           "experiment_id = ? ORDER BY position"));
  query.bind(experiment);
  std::vector<LayerFactRecord> layers;
  BLKSWEEP_CHECK(for_each_row(query, [&layers](Statement& row) {
    each_layer_fact_column(layers.emplace_back(), RowReader(row));
  }));
  return layers;
}

// probe, fio and the newest prediction join as prefixes; their run_id says whether there is a row
// at all.
std::string run_query() {
  ColumnNames run("r.");
  ColumnNames probe("p.");
  ColumnNames fio("f.");
  ColumnNames plain("g.");
  ColumnNames prediction("m.");
  ColumnNames noise("o.");
  RunRecord r;
  ProbeRecord p;
  FioRecord f;
  PredictionRecord m;
  NoiseRecord o;
  each_run_column(r, run);
  each_probe_column(p, probe);
  each_fio_column(f, fio);
  each_fio_column(f, plain);
  each_prediction_column(m, prediction);
  each_noise_column(o, noise);
  return fmt::format(
      "SELECT r.run_id, r.cell_id, {}, p.run_id, {}, f.run_id, {}, g.run_id, {}, m.run_id, {}, "
      "o.run_id, {} FROM run r "
      "JOIN cell c USING (cell_id) LEFT JOIN probe p ON p.run_id = r.run_id "
      "LEFT JOIN noise o ON o.run_id = r.run_id "
      "LEFT JOIN fio f ON f.run_id = r.run_id AND f.arm = 'grouped' "
      "LEFT JOIN fio g ON g.run_id = r.run_id AND g.arm = 'plain' LEFT JOIN prediction m ON "
      "m.prediction_id = "
      "(SELECT max(prediction_id) FROM prediction n WHERE n.run_id = r.run_id) WHERE "
      "c.experiment_id = ? "
      "ORDER BY r.run_id",
      run.text(), probe.text(), fio.text(), plain.text(), prediction.text(), noise.text());
}

StoredRun read_run(Statement& row) {
  StoredRun stored;
  Maybe<std::int64_t> there;
  ProbeRecord probe;
  FioRecord fio, plain;
  PredictionRecord prediction;
  NoiseRecord noise;
  row.read(stored.id);
  row.read(stored.cell_id);
  each_run_column(stored.run, RowReader(row));
  row.read(there);
  each_probe_column(probe, RowReader(row));
  if (there) {
    stored.run.probe = std::move(probe);
  }
  row.read(there);
  each_fio_column(fio, RowReader(row));
  if (there) {
    stored.run.fio = std::move(fio);
  }
  row.read(there);
  each_fio_column(plain, RowReader(row));
  if (there) {
    stored.run.fio_plain = std::move(plain);
  }
  row.read(there);
  each_prediction_column(prediction, RowReader(row));
  if (there) {
    stored.run.prediction = std::move(prediction);
  }
  row.read(there);
  each_noise_column(noise, RowReader(row));
  if (there) {
    stored.run.noise = noise;
  }
  return stored;
}

}  // namespace

Result<ResultReader> ResultReader::open(const std::string& path) {
  if (::access(path.c_str(), R_OK) != 0) {
    const int error = errno;
    return fail(fmt::format("open {}: {}: name the database that 'blksweep run --db' wrote", path,
                            std::strerror(error)));
  }
  BLKSWEEP_TRY(Database db, Database::open(path, Database::Mode::existing));
  BLKSWEEP_CHECK(check_schema(db));
  return ResultReader(std::move(db));
}

Result<ResultReader> ResultReader::open_moment(const std::string& path) {
  BLKSWEEP_TRY(ResultReader reader, open(path));
  BLKSWEEP_CHECK(reader.db_.exec("BEGIN; SELECT 1 FROM sqlite_master LIMIT 1"));
  return reader;
}

Result<std::vector<StoredExperiment>> ResultReader::experiments() {
  ColumnNames names;
  HostRecord none;
  each_host_column(none, names);
  BLKSWEEP_TRY(
      Statement query,
      db_.prepare(fmt::format(
          "SELECT experiment_id, key, facts_hash, started_unix_ns, (SELECT count(*) FROM run JOIN "
          "cell c USING (cell_id) WHERE c.experiment_id = e.experiment_id), {} FROM experiment e "
          "ORDER BY "
          "(SELECT max(session_id) FROM session s WHERE s.experiment_id = e.experiment_id), "
          "experiment_id",
          names.text())));
  std::vector<StoredExperiment> found;
  BLKSWEEP_CHECK(for_each_row(query, [&found](Statement& row) {
    StoredExperiment& e = found.emplace_back();
    row.read(e.id);
    row.read(e.key);
    row.read(e.facts_hash);
    row.read(e.started_unix_ns);
    row.read(e.runs);
    each_host_column(e.host, RowReader(row));
  }));
  for (StoredExperiment& e : found) {
    BLKSWEEP_TRY(e.host.queue,
                 read_pairs(db_,
                            "SELECT name, value FROM queue_setting WHERE experiment_id = ? "
                            "ORDER BY rowid",
                            e.id));
    BLKSWEEP_TRY(e.host.layers, read_layers(db_, e.id));
    BLKSWEEP_TRY(e.ceilings, read_ceilings(db_, e.id));
    BLKSWEEP_TRY(e.stopping, read_stopping(db_, e.id));
    BLKSWEEP_TRY(Statement sessions,
                 db_.prepare("SELECT argv, coalesce(data_root, '') FROM session "
                             "WHERE experiment_id = ? ORDER BY session_id"));
    sessions.bind(e.id);
    BLKSWEEP_CHECK(for_each_row(sessions, [&e](Statement& row) {
      row.read(e.commands.emplace_back());
      row.read(e.data_root);
    }));
    BLKSWEEP_TRY(Statement disk, db_.prepare("SELECT label FROM disk WHERE experiment_id = ?"));
    disk.bind(e.id);
    BLKSWEEP_CHECK(for_each_row(disk, [&e](Statement& row) { row.read(e.host.device_label); }));
  }
  return found;
}

Result<std::vector<StoredCell>> ResultReader::cells(std::int64_t experiment) {
  BLKSWEEP_TRY(Statement query,
               db_.prepare("SELECT cell_id FROM cell WHERE experiment_id = ? ORDER BY cell_id"));
  query.bind(experiment);
  std::vector<StoredCell> found;
  BLKSWEEP_CHECK(
      for_each_row(query, [&found](Statement& row) { row.read(found.emplace_back().id); }));
  for (StoredCell& cell : found) {
    BLKSWEEP_TRY(cell.cell.settings,
                 read_pairs(db_,
                            "SELECT name, value FROM cell_setting WHERE cell_id = ? "
                            "ORDER BY position",
                            cell.id));
  }
  return found;
}

Result<std::vector<StoredRun>> ResultReader::runs(std::int64_t experiment) {
  BLKSWEEP_TRY(Statement query, db_.prepare(run_query()));
  query.bind(experiment);
  std::vector<StoredRun> found;
  BLKSWEEP_CHECK(for_each_row(query, [&found](Statement& row) { found.push_back(read_run(row)); }));
  for (StoredRun& stored : found) {
    BLKSWEEP_CHECK(read_account(db_, stored.id, stored.run));
    BLKSWEEP_TRY(stored.run.page_cache, read_page_cache(db_, stored.id));
    if (stored.run.probe) {
      BLKSWEEP_TRY(stored.run.probe->order, read_orders(db_, stored.id));
      BLKSWEEP_TRY(stored.run.probe->attribution, read_attribution(db_, stored.id));
    }
    BLKSWEEP_CHECK(read_node(stored.id, stored.run));
    BLKSWEEP_CHECK(read_texts(stored.id, stored.run));
  }
  return found;
}

Result<Maybe<CommandRecord>> ResultReader::command(std::int64_t session) {
  BLKSWEEP_TRY(
      Statement query,
      db_.prepare("SELECT argv, directory, data_root, catalog, spec_name, spec FROM session "
                  "WHERE session_id = ?"));
  query.bind(session);
  Maybe<CommandRecord> found;
  BLKSWEEP_CHECK(for_each_row(query, [&found](Statement& row) {
    CommandRecord& c = found.emplace();
    row.read(c.argv);
    row.read(c.directory);
    row.read(c.data_root);
    row.read(c.catalog);
    row.read(c.spec_name);
    row.read(c.spec);
  }));
  return found;
}

Result<> ResultReader::read_node(std::int64_t run, RunRecord& record) {
  ColumnNames names, uses;
  NodeSettingRecord setting;
  LimitUseRecord use;
  each_node_setting_column(setting, names);
  each_limit_use_column(use, uses);
  BLKSWEEP_TRY(
      Statement settings,
      db_.prepare(fmt::format("SELECT {} FROM node_setting WHERE run_id = ? ORDER BY position",
                              names.text())));
  settings.bind(run);
  BLKSWEEP_CHECK(for_each_row(settings, [&record](Statement& row) {
    each_node_setting_column(record.node.emplace_back(), RowReader(row));
  }));
  BLKSWEEP_TRY(Statement limits,
               db_.prepare(fmt::format("SELECT {} FROM limit_use WHERE run_id = ?", uses.text())));
  limits.bind(run);
  return for_each_row(limits, [&record](Statement& row) {
    each_limit_use_column(record.limit_use.emplace(), RowReader(row));
  });
}

Result<> ResultReader::read_texts(std::int64_t run, RunRecord& record) {
  BLKSWEEP_TRY(Statement warnings,
               db_.prepare("SELECT text FROM warning WHERE run_id = ? ORDER BY position"));
  warnings.bind(run);
  BLKSWEEP_CHECK(for_each_row(
      warnings, [&record](Statement& row) { row.read(record.warnings.emplace_back()); }));
  BLKSWEEP_TRY(const Pairs failed, read_pairs(db_,
                                              "SELECT path, error FROM failed_sample WHERE "
                                              "run_id = ? ORDER BY rowid",
                                              run));
  for (const auto& [path, error] : failed) {
    record.failed.push_back({path, error});
  }
  return {};
}

Result<std::vector<BatchRecord>> ResultReader::batches(std::int64_t run) {
  return read_batches(db_, run);
}

Result<std::vector<MemoryWait>> ResultReader::read_waits(std::int64_t run) {
  return blksweep::read_waits(db_, run);
}

Result<Histogram> ResultReader::histogram(std::int64_t run, const std::string& kind) {
  BLKSWEEP_TRY(Statement query, db_.prepare("SELECT lower, count FROM histogram WHERE run_id = ? "
                                            "AND kind = ? ORDER BY lower"));
  query.bind(run);
  query.bind(kind);
  Histogram found;
  BLKSWEEP_CHECK(for_each_row(query, [&found](Statement& row) {
    auto& [lower, count] = found.emplace_back();
    row.read(lower);
    row.read(count);
  }));
  return found;
}

Result<std::string> ResultReader::series_bytes(std::int64_t run, const char* kind) {
  BLKSWEEP_TRY(Statement query,
               db_.prepare("SELECT data FROM series WHERE run_id = ? AND kind = ?"));
  query.bind(run);
  query.bind(std::string_view(kind));
  std::string bytes;
  BLKSWEEP_CHECK(for_each_row(query, [&bytes](Statement& row) { row.read(bytes); }));
  return bytes;
}

Result<std::vector<DepthPoint>> ResultReader::depth_series(std::int64_t run) {
  BLKSWEEP_TRY(const std::string bytes, series_bytes(run, "depth"));
  return decode_depth_series(bytes);
}

Result<std::vector<IssuePoint>> ResultReader::issue_series(std::int64_t run) {
  BLKSWEEP_TRY(const std::string bytes, series_bytes(run, "issue"));
  return decode_issue_series(bytes);
}

Result<DeviceWork> ResultReader::device_work(std::int64_t run) {
  BLKSWEEP_TRY(const std::string transfers, series_bytes(run, "transfer"));
  BLKSWEEP_TRY(const std::string kernels, series_bytes(run, "kernel"));
  return DeviceWork{decode_transfer_series(transfers), decode_kernel_series(kernels)};
}

}  // namespace blksweep
