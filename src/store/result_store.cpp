#include "store/result_store.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <cerrno>
#include <filesystem>
#include <initializer_list>

#include "base/clock.h"
#include "store/account_store.h"
#include "store/batch_store.h"
#include "store/cache_store.h"
#include "store/insert.h"
#include "store/request_store.h"
#include "store/schema/run_columns.h"
#include "store/schema/schema.h"
#include "store/summary/series.h"

namespace blksweep {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

// Each text with its length, so that ("ab", "c") and ("a", "bc") differ.
std::string framed(std::string_view text) { return fmt::format("{}:{}", text.size(), text); }

std::string framed(const Pairs& pairs) {
  std::string out;
  for (const auto& [name, value] : pairs) {
    out += framed(name) + framed(value);
  }
  return out;
}

std::string hash_of(const std::string& text) {
  return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

// What must be equal for a sweep to go on in the same experiment. Memory size and argv are left
// out: the first moves by some pages between boots, the second is the caller's key.
std::string facts_hash(const HostRecord& h) {
  std::string facts;
  for (const std::string* text :
       {&h.kernel, &h.cpu, &h.hostname, &h.device, &h.device_model, &h.filesystem, &h.mount_options,
        &h.scheduler, &h.cgroup, &h.gpu, &h.tool_version, &h.git_revision}) {
    facts += framed(*text);
  }
  // Only where there is one: experiments without a label keep the hash that they had before labels.
  facts += h.device_label.empty() ? "" : framed(h.device_label);
  // Other direct I/O of a loop device, another disk below it: other conditions.
  for (const LayerFactRecord& l : h.layers) {
    facts += framed(l.disk) + framed(l.name) + framed(l.value);
  }
  return hash_of(facts + std::to_string(h.cpus) + framed(h.queue));
}

// The id in the first column, or none.
Result<Maybe<std::int64_t>> find_id(Database& db, const std::string& sql,
                                    std::initializer_list<std::string_view> parameters) {
  BLKSWEEP_TRY(Statement query, db.prepare(sql));
  for (const std::string_view p : parameters) {
    query.bind(p);
  }
  BLKSWEEP_TRY(const bool row, query.step());
  Maybe<std::int64_t> id;
  if (row) {
    query.read(id);
  }
  return id;
}

Result<> insert_queue(Database& db, std::int64_t experiment, const Pairs& queue) {
  for (const auto& [name, value] : queue) {
    Insert row("queue_setting");
    row("experiment_id", experiment);
    row("name", name);
    row("value", value);
    BLKSWEEP_CHECK(row.into(db));
  }
  return {};
}

Result<> insert_layers(Database& db, std::int64_t experiment,
                       const std::vector<LayerFactRecord>& layers) {
  std::int64_t position = 0;
  for (const LayerFactRecord& l : layers) {
    Insert row("layer_fact");
    row("experiment_id", experiment);
    row("position", position++);
    each_layer_fact_column(l, row);
    BLKSWEEP_CHECK(row.into(db));
  }
  return {};
}

Result<> insert_settings(Database& db, std::int64_t cell, const CellRecord& record) {
  std::int64_t position = 0;
  for (const auto& [name, value] : record.settings) {
    Insert row("cell_setting");
    row("cell_id", cell);
    row("position", position++);
    row("name", name);
    row("value", value);
    BLKSWEEP_CHECK(row.into(db));
  }
  return {};
}

Result<> insert_histogram(Database& db, std::int64_t run, std::string_view kind,
                          const Histogram& histogram) {
  // Buckets that a caller gives twice are added up rather than refused.
  BLKSWEEP_TRY(Statement insert,
               db.prepare("INSERT INTO histogram VALUES (?, ?, ?, ?) "
                          "ON CONFLICT DO UPDATE SET count = count + excluded.count"));
  for (const auto& [lower, count] : histogram) {
    insert.bind(run);
    insert.bind(kind);
    insert.bind(lower);
    insert.bind(count);
    BLKSWEEP_CHECK(insert.step());
    insert.reset();
  }
  return {};
}

template <class Point>
Result<> insert_series(Database& db, std::int64_t run, std::string_view kind,
                       const std::vector<Point>& points) {
  BLKSWEEP_TRY(Statement insert, db.prepare("INSERT INTO series VALUES (?, ?, ?, ?)"));
  insert.bind(run);
  insert.bind(kind);
  insert.bind(points.size());
  insert.bind_blob(encode_series(points));
  BLKSWEEP_CHECK(insert.step());
  return {};
}

Result<> insert_probe(Database& db, std::int64_t run, const ProbeRecord& probe) {
  Insert row("probe");
  row("run_id", run);
  each_probe_column(probe, row);
  BLKSWEEP_CHECK(row.into(db));
  BLKSWEEP_CHECK(insert_histogram(db, run, "depth_requests", probe.depth));
  BLKSWEEP_CHECK(insert_histogram(db, run, "request_bytes", probe.request_bytes));
  BLKSWEEP_CHECK(insert_histogram(db, run, "device_latency_ns", probe.latency_ns));
  for (const OrderRecord& o : probe.order) {
    BLKSWEEP_CHECK(insert_histogram(db, run, "displaced_" + o.layer, o.displaced));
  }
  BLKSWEEP_CHECK(insert_series(db, run, "depth", probe.series));
  for (const auto& [kind, points] :
       {std::pair{"queue", &probe.queued}, std::pair{"insert", &probe.inserted}}) {
    if (!points->empty()) {
      BLKSWEEP_CHECK(insert_series(db, run, kind, *points));
    }
  }
  BLKSWEEP_CHECK(insert_series(db, run, "issue", probe.issues));
  BLKSWEEP_CHECK(insert_orders(db, run, probe.order));
  return probe.attribution ? insert_attribution(db, run, *probe.attribution) : Result<>{};
}

Result<> insert_fio(Database& db, std::int64_t run, const FioRecord& fio) {
  Insert row("fio");
  row("run_id", run);
  each_fio_column(fio, row);
  return row.into(db);
}

Result<> insert_prediction(Database& db, std::int64_t run, const PredictionRecord& prediction) {
  BLKSWEEP_TRY(Statement old, db.prepare("DELETE FROM prediction WHERE run_id = ? AND model = ?"));
  old.bind(run);
  old.bind(std::string_view(prediction.model));
  BLKSWEEP_CHECK(old.step());
  Insert row("prediction");
  row("run_id", run);
  each_prediction_column(prediction, row);
  return row.into(db);
}

Result<> insert_node(Database& db, std::int64_t run, const RunRecord& record) {
  std::int64_t position = 0;
  for (const NodeSettingRecord& s : record.node) {
    Insert row("node_setting");
    row("run_id", run);
    row("position", position++);
    each_node_setting_column(s, row);
    BLKSWEEP_CHECK(row.into(db));
  }
  if (!record.limit_use) {
    return {};
  }
  Insert row("limit_use");
  row("run_id", run);
  each_limit_use_column(*record.limit_use, row);
  return row.into(db);
}

Result<> insert_noise(Database& db, std::int64_t run, const RunRecord& record) {
  if (!record.noise) {
    return {};
  }
  Insert row("noise");
  row("run_id", run);
  each_noise_column(*record.noise, row);
  return row.into(db);
}

Result<> insert_texts(Database& db, std::int64_t run, const RunRecord& record) {
  for (const FailedSample& f : record.failed) {
    Insert row("failed_sample");
    row("run_id", run);
    row("path", f.path);
    row("error", f.error);
    BLKSWEEP_CHECK(row.into(db));
  }
  std::int64_t position = 0;
  for (const std::string& text : record.warnings) {
    Insert row("warning");
    row("run_id", run);
    row("position", position++);
    row("text", text);
    BLKSWEEP_CHECK(row.into(db));
  }
  return {};
}

Result<std::int64_t> insert_run(Database& db, std::int64_t cell, const RunRecord& record) {
  Insert row("run");
  row("cell_id", cell);
  each_run_column(record, row);
  BLKSWEEP_CHECK(row.into(db));
  const std::int64_t run = db.last_id();
  BLKSWEEP_CHECK(insert_batches(db, run, record));
  if (!record.gpu.empty()) {
    BLKSWEEP_CHECK(insert_series(db, run, "gpu", record.gpu));
  }
  if (record.overlap) {
    BLKSWEEP_CHECK(insert_series(db, run, "transfer", record.device_work.transfers));
    BLKSWEEP_CHECK(insert_series(db, run, "kernel", record.device_work.kernels));
  }
  if (record.page_cache) {
    BLKSWEEP_CHECK(insert_series(db, run, "page_cache", record.page_cache->series));
  }
  BLKSWEEP_CHECK(insert_histogram(db, run, "read_latency_ns", record.read_latency_ns));
  if (record.probe) {
    BLKSWEEP_CHECK(insert_probe(db, run, *record.probe));
  }
  for (const Maybe<FioRecord>* fio : {&record.fio, &record.fio_plain}) {
    if (*fio) {
      BLKSWEEP_CHECK(insert_fio(db, run, **fio));
    }
  }
  if (record.prediction) {
    BLKSWEEP_CHECK(insert_prediction(db, run, *record.prediction));
  }
  BLKSWEEP_CHECK(insert_account(db, run, record));
  BLKSWEEP_CHECK(insert_page_cache(db, run, record.page_cache));
  BLKSWEEP_CHECK(insert_node(db, run, record));
  BLKSWEEP_CHECK(insert_noise(db, run, record));
  BLKSWEEP_CHECK(insert_texts(db, run, record));
  return run;
}

Result<Database> open_with_schema(const std::string& path, std::chrono::milliseconds patience) {
  BLKSWEEP_TRY(Database db, Database::open(path, Database::Mode::create));
  // The journal stays SQLite's default: at rest there is one file, which read-only media can hold.
  BLKSWEEP_CHECK(db.exec("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON"));
  BLKSWEEP_CHECK(prepare_schema(db));
  db.set_busy_timeout(patience);
  return db;
}

}  // namespace

Result<ResultStore> ResultStore::open(const std::string& path, std::chrono::milliseconds patience) {
  std::error_code none;
  const bool was_there = std::filesystem::exists(path, none);
  Result<Database> db = open_with_schema(path, patience);
  // Made, and no room for its tables. Of one that is locked somebody else has not written all yet.
  if (!db && db.error().sys_errno == ENOSPC && !was_there &&
      std::filesystem::file_size(path, none) == 0) {
    std::filesystem::remove(path, none);
  }
  BLKSWEEP_TRY(Database opened, std::move(db));
  return ResultStore(std::move(opened));
}

Result<std::int64_t> ResultStore::begin_experiment(const HostRecord& host, const std::string& key) {
  BLKSWEEP_TRY(Transaction transaction, Transaction::begin(db_));
  const std::string facts = facts_hash(host);
  BLKSWEEP_TRY(
      const auto known,
      find_id(db_, "SELECT max(experiment_id) FROM experiment WHERE key = ? AND facts_hash = ?",
              {key, facts}));
  if (known) {
    return *known;
  }
  Insert row("experiment");
  row("key", key);
  row("facts_hash", facts);
  row("started_unix_ns", unix_ns());
  each_host_column(host, row);
  BLKSWEEP_CHECK(row.into(db_));
  const std::int64_t id = db_.last_id();
  BLKSWEEP_CHECK(insert_queue(db_, id, host.queue));
  BLKSWEEP_CHECK(insert_layers(db_, id, host.layers));
  if (!host.device_label.empty()) {
    Insert disk("disk");
    disk("experiment_id", id);
    disk("label", host.device_label);
    BLKSWEEP_CHECK(disk.into(db_));
  }
  BLKSWEEP_CHECK(transaction.commit());
  return id;
}

Result<SessionRecord> ResultStore::begin_session(std::int64_t experiment,
                                                 const CommandRecord& command) {
  SessionRecord session{.id = 0, .started_unix_ns = unix_ns()};
  Insert row("session");
  row("experiment_id", experiment);
  row("started_unix_ns", session.started_unix_ns);
  row("argv", command.argv);
  row("directory", command.directory);
  row("data_root", command.data_root);
  row("catalog", command.catalog);
  row("spec_name", command.spec_name);
  row("spec", command.spec);
  BLKSWEEP_CHECK(row.into(db_));
  session.id = db_.last_id();
  return session;
}

Result<> ResultStore::keep_stopping(std::int64_t session, const StoppingRecord& stopping) {
  BLKSWEEP_TRY(Transaction transaction, Transaction::begin(db_));
  BLKSWEEP_TRY(Statement old, db_.prepare("DELETE FROM stopping WHERE session_id = ?"));
  old.bind(session);
  BLKSWEEP_CHECK(old.step());
  Insert row("stopping");
  row("session_id", session);
  each_stopping_column(stopping, row);
  BLKSWEEP_CHECK(row.into(db_));
  return transaction.commit();
}

Result<> ResultStore::add_ceiling(std::int64_t experiment, const CeilingRecord& ceiling) {
  Insert row("ceiling");
  row("experiment_id", experiment);
  each_ceiling_column(ceiling, row);
  return row.into(db_);
}

Result<std::int64_t> ResultStore::add_cell(std::int64_t experiment, const CellRecord& cell) {
  BLKSWEEP_TRY(Transaction transaction, Transaction::begin(db_));
  const std::string hash = hash_of(framed(cell.settings));
  BLKSWEEP_TRY(
      const auto known,
      find_id(db_, "SELECT cell_id FROM cell WHERE experiment_id = ? + 0 AND settings_hash = ?",
              {std::to_string(experiment), hash}));
  if (known) {
    return *known;
  }
  Insert row("cell");
  row("experiment_id", experiment);
  row("settings_hash", hash);
  BLKSWEEP_CHECK(row.into(db_));
  const std::int64_t id = db_.last_id();
  BLKSWEEP_CHECK(insert_settings(db_, id, cell));
  BLKSWEEP_CHECK(transaction.commit());
  return id;
}

Result<std::int64_t> ResultStore::add_run(std::int64_t cell, const RunRecord& run) {
  BLKSWEEP_TRY(Transaction transaction, Transaction::begin(db_));
  BLKSWEEP_TRY(const std::int64_t id, insert_run(db_, cell, run));
  BLKSWEEP_CHECK(transaction.commit());
  return id;
}

Result<> ResultStore::attach_prediction(std::int64_t run, const PredictionRecord& prediction) {
  BLKSWEEP_TRY(Transaction transaction, Transaction::begin(db_));
  BLKSWEEP_CHECK(insert_prediction(db_, run, prediction));
  return transaction.commit();
}

Result<std::vector<std::uint32_t>> ResultStore::finished_repeats(std::int64_t cell) {
  BLKSWEEP_TRY(Statement query, db_.prepare("SELECT DISTINCT repeat FROM run WHERE cell_id = ? AND "
                                            "incomplete = 0 ORDER BY repeat"));
  query.bind(cell);
  std::vector<std::uint32_t> repeats;
  for (;;) {
    BLKSWEEP_TRY(const bool row, query.step());
    if (!row) {
      return repeats;
    }
    query.read(repeats.emplace_back());
  }
}

}  // namespace blksweep
