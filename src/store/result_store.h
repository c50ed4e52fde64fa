// ResultStore keeps runs: one SQLite file, committed run by run.
//
// Durability: add_run() has committed when it returns; a crash or kill -9 loses at most the run in
//            progress. The next open() repairs what the crash left (SQLite's rollback journal).
// Going on:  the same key under the same facts (kernel, device, filesystem, mount options, queue
//            settings, tool revision ...) is the same experiment; finished_repeats() then says what
//            need not be run again. Other facts begin another experiment under the same key, so
//            that results of different conditions are never mixed.
// Errors:    one line that names the file and the way out: not a database, a stranger's database,
//            another schema version, locked by another process (add_run waits 30 s: it has a result
//            to lose), disk full, read-only, missing directory. What was committed
//            before stays; of a new file whose tables find no room nothing does.
// Threads:   one owner. Several processes may write to one file.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "store/database.h"
#include "store/ranks_records.h"
#include "store/records.h"

namespace blksweep {

class ResultStore {
 public:
  // Creates the file when it is missing or empty. `patience`: how long results, which took longer
  // to make, wait for who reads or writes the file; whoever has it when it is opened is said soon.
  static Result<ResultStore> open(const std::string& path,
                                  std::chrono::milliseconds patience = std::chrono::seconds(30));

  // `key` says which sweep this is, such as a hash of the specification.
  Result<std::int64_t> begin_experiment(const HostRecord& host, const std::string& key);
  // A start of the program, now: rounds are paired within it. Gives session_id of its runs.
  Result<SessionRecord> begin_session(std::int64_t experiment, const CommandRecord& command);
  // How far `--repeats auto` is; replaces what the session had.
  Result<> keep_stopping(std::int64_t session, const StoppingRecord& stopping);
  Result<> add_ceiling(std::int64_t experiment, const CeilingRecord& ceiling);
  // A cell with the same settings is not added twice.
  Result<std::int64_t> add_cell(std::int64_t experiment, const CellRecord& cell);
  // Everything of the run in one transaction; returns its id.
  Result<std::int64_t> add_run(std::int64_t cell, const RunRecord& run);

  // Replaces an earlier one of the same model.
  Result<> attach_prediction(std::int64_t run, const PredictionRecord& prediction);
  // A latency map with all its reads in one transaction; returns its id.
  Result<std::int64_t> add_map(const MapRecord& record);
  Result<std::int64_t> add_replay(const ReplayRow& replay);
  Result<std::int64_t> add_trace(const TraceRow& trace);
  // With its entries, in one transaction; returns its id.
  Result<std::int64_t> add_ranks(const RanksRow& ranks);

  const std::string& name() const { return db_.name(); }  // of the file

  // Repeats of the cell that have a complete run, ascending.
  Result<std::vector<std::uint32_t>> finished_repeats(std::int64_t cell);
  // For a sweep, as long as the store lives: two at once would store each run twice, and disturb
  // each other's. false: another one has it, `holder` says which.
  Result<bool> claim(std::string& holder);

 private:
  explicit ResultStore(Database db) : db_(std::move(db)) {}
  Fd claim_;  // outlives the connection: closing any descriptor of the file ends SQLite's locks
  Database db_;
};

}  // namespace blksweep
