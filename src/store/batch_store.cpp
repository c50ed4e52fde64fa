#include "store/batch_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "store/select.h"

namespace blksweep {
namespace {

Result<> insert_stages(Statement& insert, std::int64_t run, std::int64_t position,
                       const BatchTimes& times) {
  for (std::size_t s = 0; s < kStages; ++s) {
    if (!times.stages[s]) {
      continue;
    }
    insert.bind(run);
    insert.bind(position);
    insert.bind(kStageNames[s]);
    insert.bind(times.stages[s]->wait);
    insert.bind(times.stages[s]->begin);
    insert.bind(times.stages[s]->end);
    BLKSWEEP_CHECK(insert.step());
    insert.reset();
  }
  return {};
}

Result<> insert_waits(Database& db, std::int64_t run, const std::vector<MemoryWait>& waits) {
  BLKSWEEP_TRY(Statement insert, db.prepare("INSERT INTO read_wait VALUES (?, ?, ?, ?, ?)"));
  std::int64_t position = 0;
  for (const MemoryWait& w : waits) {
    insert.bind(run);
    insert.bind(position++);
    insert.bind(w.span.begin);
    insert.bind(w.span.end);
    insert.bind(w.consumed_batches);
    BLKSWEEP_CHECK(insert.step());
    insert.reset();
  }
  return {};
}

// Of a row of batch_stage, behind its position.
Result<> read_stage(Statement& row, BatchTimes& times) {
  std::string name;
  row.read(name);
  const auto found = std::ranges::find(kStageNames, name);
  if (found == kStageNames.end()) {
    return fail(fmt::format("a batch has a stage {:?}, which this version does not know", name));
  }
  StageTimes& t = times.stages[static_cast<std::size_t>(found - kStageNames.begin())].emplace();
  row.read(t.wait);
  row.read(t.begin);
  row.read(t.end);
  return {};
}

Result<> read_stages(Database& db, std::int64_t run, std::map<std::int64_t, BatchRecord>& batches) {
  BLKSWEEP_TRY(Statement query,
               db.prepare("SELECT position, stage, wait_ns, begin_ns, end_ns FROM batch_stage "
                          "WHERE run_id = ?"));
  query.bind(run);
  for (;;) {
    BLKSWEEP_TRY(const bool there, query.step());
    if (!there) {
      return {};
    }
    std::int64_t position = 0;
    query.read(position);
    if (const auto batch = batches.find(position); batch != batches.end()) {
      BLKSWEEP_CHECK(read_stage(query, batch->second.times));
    }
  }
}

}  // namespace

Result<> insert_batches(Database& db, std::int64_t run, const RunRecord& record) {
  BLKSWEEP_TRY(Statement batch, db.prepare("INSERT INTO batch VALUES (?, ?, ?, ?, ?, ?)"));
  BLKSWEEP_TRY(Statement stage, db.prepare("INSERT INTO batch_stage VALUES (?, ?, ?, ?, ?, ?)"));
  std::int64_t position = 0;
  for (const BatchRecord& b : record.batches) {
    batch.bind(run);
    batch.bind(position);
    batch.bind(b.samples);
    batch.bind(b.bytes);
    batch.bind(b.decoded_bytes);
    batch.bind(b.times.consumed);
    BLKSWEEP_CHECK(batch.step());
    batch.reset();
    BLKSWEEP_CHECK(insert_stages(stage, run, position++, b.times));
  }
  return insert_waits(db, run, record.read_waits);
}

Result<std::vector<BatchRecord>> read_batches(Database& db, std::int64_t run) {
  BLKSWEEP_TRY(Statement query,
               db.prepare("SELECT position, samples, bytes, decoded_bytes, consumed_ns FROM batch "
                          "WHERE run_id = ?"));
  query.bind(run);
  std::map<std::int64_t, BatchRecord> batches;
  BLKSWEEP_CHECK(for_each_row(query, [&batches](Statement& row) {
    std::int64_t position = 0;
    row.read(position);
    BatchRecord& b = batches[position];
    row.read(b.samples);
    row.read(b.bytes);
    row.read(b.decoded_bytes);
    row.read(b.times.consumed);
  }));
  BLKSWEEP_CHECK(read_stages(db, run, batches));
  std::vector<BatchRecord> found;
  for (const auto& [position, batch] : batches) {
    if (!batch.times[Stage::read]) {
      return fail(fmt::format("batch {} of run {} has no read", position, run));
    }
    found.push_back(batch);
  }
  return found;
}

Result<std::vector<MemoryWait>> read_waits(Database& db, std::int64_t run) {
  BLKSWEEP_TRY(Statement query,
               db.prepare("SELECT begin_ns, end_ns, consumed_batches FROM read_wait "
                          "WHERE run_id = ? ORDER BY position"));
  query.bind(run);
  std::vector<MemoryWait> waits;
  BLKSWEEP_CHECK(for_each_row(query, [&waits](Statement& row) {
    MemoryWait& w = waits.emplace_back();
    row.read(w.span.begin);
    row.read(w.span.end);
    row.read(w.consumed_batches);
  }));
  return waits;
}

}  // namespace blksweep
