#include "lab/account_run.h"

namespace blksweep {
namespace {

std::optional<TimeSpan> span_between(const Maybe<std::int64_t>& begin,
                                     const Maybe<std::int64_t>& end) {
  return begin && end ? std::optional(TimeSpan{*begin, *end}) : std::nullopt;
}

LaneRecord record_of(const LaneAccount& a) {
  LaneRecord r{std::string(to_string(a.lane)), a.busy, a.hidden, a.exposed, {}};
  for (std::size_t s = 0; s < kStalls; ++s) {
    r.stalls.emplace_back(to_string(static_cast<Stall>(s)), a.stalls[s]);
  }
  return r;
}

// Gathering and registering belong to the copy; decoding comes before that.
Maybe<std::int64_t> copy_begin(const BatchRecord& b) {
  return b.staging_begin_ns ? b.staging_begin_ns : b.copy_begin_ns;
}

}  // namespace

RunStages stages_of(const CellSettings& cell) {
  return {.decode = cell.decode_threads > 0,
          .copy = cell.copy != CopyKind::none,
          .compute = cell.consumer != ConsumerKind::none};
}

std::vector<BatchSpans> batch_spans(const std::vector<BatchRecord>& batches) {
  std::vector<BatchSpans> spans;
  spans.reserve(batches.size());
  for (const BatchRecord& b : batches) {
    spans.push_back({.read = {b.first_submit_ns, b.ready_ns},
                     .decode = span_between(b.decode_begin_ns, b.decode_end_ns),
                     .copy = span_between(copy_begin(b), b.copy_end_ns),
                     .compute = span_between(b.compute_begin_ns, b.compute_end_ns),
                     .slot_wait_begin = b.slot_wait_begin_ns,
                     .consumed = b.consumed_ns});
  }
  return spans;
}

std::vector<MemoryWait> memory_waits(const std::vector<ReadWaitRecord>& waits) {
  std::vector<MemoryWait> out;
  out.reserve(waits.size());
  for (const ReadWaitRecord& w : waits) {
    out.push_back({{w.begin_ns, w.end_ns}, w.consumed_batches});
  }
  return out;
}

Account account_run(const RunRecord& run, const RunStages& stages) {
  const std::vector<BatchSpans> spans = batch_spans(run.batches);
  const std::vector<MemoryWait> waits = memory_waits(run.read_waits);
  return make_account({.epoch = {run.begin_ns, run.begin_ns + run.epoch_ns},
                       .batches = spans,
                       .read_waits = waits,
                       .decode = stages.decode,
                       .copy = stages.copy,
                       .compute = stages.compute});
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

std::string keep_account(RunRecord& run, const RunStages& stages) {
  const Account account = account_run(run, stages);
  run.account = record_of(account);
  run.utilisation = account.utilisation();
  return broken_identity(account);
}

}  // namespace blksweep
