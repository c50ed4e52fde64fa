#include "experiment/record/account_run.h"

#include <algorithm>
#include <iterator>

namespace blksweep {
namespace {

LaneRecord record_of(const LaneAccount& a) {
  LaneRecord r{std::string(to_string(a.lane)), a.busy, a.hidden, a.exposed, {}};
  for (std::size_t s = 0; s < kStalls; ++s) {
    r.stalls.emplace_back(to_string(static_cast<Stall>(s)), a.stalls[s]);
  }
  return r;
}

}  // namespace

LaneSet lanes_of(const CellSettings& cell) {
  return {.decode = cell.decode_threads > 0,
          .copy = cell.copy != CopyKind::none,
          .compute = cell.consumer != ConsumerKind::none};
}

Account account_run(const RunRecord& run, const LaneSet& lanes) {
  std::vector<BatchTimes> times;
  times.reserve(run.batches.size());
  std::ranges::transform(run.batches, std::back_inserter(times), &BatchRecord::times);
  return make_account({.epoch = {run.begin_ns, run.begin_ns + run.epoch_ns},
                       .batches = times,
                       .read_waits = run.read_waits,
                       .lanes = lanes});
}

AccountRecord record_of(const Account& a) {
  AccountRecord r;
  r.wall_ns = a.wall;
  r.union_ns = a.covered;
  r.overlap_ns = a.overlap;
  r.ideal_ns = a.ideal;
  r.longest_lane = to_string(a.longest);
  r.batch_life_ns = a.batch_life;
  for (const LaneAccount& lane : a.lanes) {
    r.lanes.push_back(record_of(lane));
  }
  for (std::size_t p = 0; p < kPhases; ++p) {
    r.phases.emplace_back(to_string(static_cast<Phase>(p)), a.phases[p]);
  }
  return r;
}

Maybe<OverlapRecord> overlap_record(const RunRecord& run, const LaneSet& lanes) {
  if (!lanes.copy && !lanes.compute) {
    return std::nullopt;
  }
  const Overlap o = overlap_of({.epoch = {run.begin_ns, run.begin_ns + run.epoch_ns},
                                .transfers = run.device_work.transfers,
                                .kernels = run.device_work.kernels});
  OverlapRecord r;
  r.idle_ns = o.idle;
  if (lanes.copy) {
    r.transfer_ns = o.transfer;
    r.bytes = o.bytes;
    r.slices = run.device_work.transfers.size();
  }
  if (lanes.compute) {
    r.kernel_ns = o.kernel;
    r.asked_ns = o.asked;
  }
  if (lanes.copy && lanes.compute) {
    r.both_ns = o.both;
    r.exposed_ns = o.exposed;
    r.hidden_bytes = o.hidden_bytes;
    r.fed = o.fed;
    r.fed_gap_ns = o.fed_gap;
    r.fed_gap_most_ns = o.fed_gap_most;
  }
  return r;
}

std::string keep_account(RunRecord& run, const LaneSet& lanes) {
  const Account account = account_run(run, lanes);
  run.account = record_of(account);
  run.overlap = overlap_record(run, lanes);
  run.utilisation = account.utilisation();
  run.first_batch_ns = account.first_batch;
  return broken_identity(account);
}

}  // namespace blksweep
