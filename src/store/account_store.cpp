#include "store/account_store.h"

#include <fmt/format.h>

#include "store/record_rows.h"

namespace blksweep {
namespace {

using Named = std::vector<std::pair<std::string, std::int64_t>>;

Result<> insert_lane(Database& db, std::int64_t run, std::int64_t position,
                     const LaneRecord& lane) {
  Insert row("account_lane");
  row("run_id", run);
  row("position", position);
  each_account_lane_column(lane, row);
  BLKSWEEP_CHECK(row.into(db));
  std::int64_t at = 0;
  for (const auto& [cause, ns] : lane.stalls) {
    Insert stall("account_stall");
    stall("run_id", run);
    stall("lane", lane.lane);
    stall("position", at++);
    stall("cause", cause);
    stall("ns", ns);
    BLKSWEEP_CHECK(stall.into(db));
  }
  return {};
}

Result<> insert_sums(Database& db, std::int64_t run, const AccountRecord& account) {
  Insert row("account");
  row("run_id", run);
  each_account_column(account, row);
  BLKSWEEP_CHECK(row.into(db));
  std::int64_t position = 0;
  for (const LaneRecord& lane : account.lanes) {
    BLKSWEEP_CHECK(insert_lane(db, run, position++, lane));
  }
  std::int64_t at = 0;
  for (const auto& [phase, ns] : account.phases) {
    Insert sum("account_phase");
    sum("run_id", run);
    sum("position", at++);
    sum("phase", phase);
    sum("ns", ns);
    BLKSWEEP_CHECK(sum.into(db));
  }
  return {};
}

// Tables with one row of a run at most, and the columns of each.
constexpr auto kCostColumns = [](auto& r, auto&& f) { each_copy_cost_column(r, f); };
constexpr auto kOverlapColumns = [](auto& r, auto&& f) { each_overlap_column(r, f); };
constexpr auto kClockColumns = [](auto& r, auto&& f) { each_device_clock_column(r, f); };
constexpr auto kAcceleratorColumns = [](auto& r, auto&& f) { each_accelerator_column(r, f); };

// Rows of a name and nanoseconds, as they were written.
Result<Named> read_named(Database& db, const char* sql, std::int64_t run,
                         const std::string& lane = "") {
  BLKSWEEP_TRY(Statement query, db.prepare(sql));
  query.bind(run);
  if (!lane.empty()) {
    query.bind(std::string_view(lane));
  }
  Named found;
  BLKSWEEP_CHECK(for_each_row(query, [&found](Statement& row) {
    auto& [name, ns] = found.emplace_back();
    row.read(name);
    row.read(ns);
  }));
  return found;
}

Result<std::vector<LaneRecord>> read_lanes(Database& db, std::int64_t run) {
  ColumnNames names;
  LaneRecord none;
  each_account_lane_column(none, names);
  BLKSWEEP_TRY(
      Statement query,
      db.prepare(fmt::format("SELECT {} FROM account_lane WHERE run_id = ? ORDER BY position",
                             names.text())));
  query.bind(run);
  std::vector<LaneRecord> lanes;
  BLKSWEEP_CHECK(for_each_row(query, [&lanes](Statement& row) {
    each_account_lane_column(lanes.emplace_back(), RowReader(row));
  }));
  for (LaneRecord& lane : lanes) {
    BLKSWEEP_TRY(lane.stalls, read_named(db,
                                         "SELECT cause, ns FROM account_stall WHERE run_id = ? AND "
                                         "lane = ? ORDER BY position",
                                         run, lane.lane));
  }
  return lanes;
}

Result<Maybe<AccountRecord>> read_sums(Database& db, std::int64_t run) {
  Maybe<AccountRecord> account;
  BLKSWEEP_CHECK(
      read_one(db, run, "account", account, [](auto& r, auto&& f) { each_account_column(r, f); }));
  if (!account) {
    return account;
  }
  BLKSWEEP_TRY(account->lanes, read_lanes(db, run));
  BLKSWEEP_TRY(
      account->phases,
      read_named(db, "SELECT phase, ns FROM account_phase WHERE run_id = ? ORDER BY position",
                 run));
  return account;
}

}  // namespace

Result<> insert_account(Database& db, std::int64_t run, const RunRecord& record) {
  BLKSWEEP_CHECK(insert_one(db, run, "copy_cost", record.copy_cost, kCostColumns));
  BLKSWEEP_CHECK(insert_one(db, run, "overlap", record.overlap, kOverlapColumns));
  BLKSWEEP_CHECK(insert_one(db, run, "device_clock", record.device_clock, kClockColumns));
  BLKSWEEP_CHECK(insert_one(db, run, "accelerator", record.accelerator, kAcceleratorColumns));
  return record.account ? insert_sums(db, run, *record.account) : Result<>();
}

Result<> read_account(Database& db, std::int64_t run, RunRecord& record) {
  BLKSWEEP_TRY(record.account, read_sums(db, run));
  BLKSWEEP_CHECK(read_one(db, run, "copy_cost", record.copy_cost, kCostColumns));
  BLKSWEEP_CHECK(read_one(db, run, "overlap", record.overlap, kOverlapColumns));
  BLKSWEEP_CHECK(read_one(db, run, "device_clock", record.device_clock, kClockColumns));
  return read_one(db, run, "accelerator", record.accelerator, kAcceleratorColumns);
}

}  // namespace blksweep
