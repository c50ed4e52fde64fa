// ResultReader gives stored runs back: what `report` and `--json` work from.
//
// Read-only: never creates, converts or changes a file. (It may finish what a crashed writer left,
//            through SQLite's own journal.)
// Errors:    as ResultStore; a missing file is named.
// Threads:   one owner. A sweep may go on writing meanwhile: what two functions tell is then of two
//            moments, but with open_moment().
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "store/database.h"
#include "store/ranks_records.h"
#include "store/records.h"

namespace blksweep {

struct StoredExperiment {
  std::int64_t id = 0;
  std::string key;
  std::int64_t started_unix_ns = 0;
  std::uint64_t runs = 0;  // stored ones, the incomplete too
  HostRecord host;
  std::string facts_hash;
  std::string data_root;              // of the last session; empty: unknown
  std::vector<std::string> commands;  // of each session, oldest first
  std::vector<CeilingRecord> ceilings;
  Maybe<StoppingRecord> stopping;  // of the last session with --repeats auto
};

struct StoredCell {
  std::int64_t id = 0;
  CellRecord cell;
};

struct StoredRun {
  std::int64_t id = 0;
  std::int64_t cell_id = 0;
  RunRecord run;  // without batches, waits, histograms and series: see the functions below
};

struct StoredMap {
  std::int64_t id = 0;
  MapRecord record;  // without reads: see map_reads
};

struct StoredReplay {
  std::int64_t id = 0;
  ReplayRow row;  // without curves
};

struct StoredRanks {
  std::int64_t id = 0;
  RanksRow row;
};

struct StoredTrace {
  std::int64_t id = 0;
  TraceRow row;  // without accesses
};

class ResultReader {
 public:
  static Result<ResultReader> open(const std::string& path);
  // All that is read is of one moment: who writes waits until this reader is gone.
  static Result<ResultReader> open_moment(const std::string& path);
  // That moment as a database of its own, for readers of another process.
  Result<> copy_to(const std::string& path) { return db_.copy_to(path); }

  Result<std::vector<StoredExperiment>> experiments();  // oldest first
  Result<std::vector<StoredCell>> cells(std::int64_t experiment);
  Result<std::vector<StoredRun>> runs(std::int64_t experiment);  // as they were made

  // What made the runs of a session; nullopt: there is no such session.
  Result<Maybe<CommandRecord>> command(std::int64_t session);

  // The large parts of one run.
  Result<std::vector<BatchRecord>> batches(std::int64_t run);
  Result<std::vector<MemoryWait>> read_waits(std::int64_t run);
  Result<Histogram> histogram(std::int64_t run, const std::string& kind);
  Result<std::vector<DepthPoint>> depth_series(std::int64_t run);
  Result<std::vector<IssuePoint>> issue_series(std::int64_t run);
  Result<DeviceWork> device_work(std::int64_t run);

  Result<std::vector<StoredRanks>> ranks();                  // oldest first
  Result<std::vector<StoredReplay>> replays();               // oldest first
  Result<std::vector<StoredTrace>> traces();                 // oldest first
  Result<std::vector<StoredMap>> maps();                     // oldest first
  Result<std::vector<MapRead>> map_reads(std::int64_t map);  // by their beginning

 private:
  explicit ResultReader(Database db) : db_(std::move(db)) {}
  Result<std::string> series_bytes(std::int64_t run, const char* kind);
  Result<> read_node(std::int64_t run, RunRecord& record);
  Result<> read_texts(std::int64_t run, RunRecord& record);
  Database db_;
};

}  // namespace blksweep
