#include "experiment/measure.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "experiment/observe.h"
#include "experiment/proof/cold_proof.h"
#include "experiment/proof/incomplete.h"
#include "experiment/proof/judge_caches.h"
#include "experiment/proof/map_proof.h"
#include "experiment/record/account_run.h"
#include "experiment/record/address_record.h"
#include "experiment/record/attribution_record.h"
#include "experiment/record/batch_records.h"
#include "experiment/record/gpu_record.h"
#include "experiment/record/mark_reads.h"
#include "experiment/record/order_record.h"
#include "experiment/record/quality.h"
#include "loader/batch_parts.h"
#include "loader/verify.h"
#include "node/cache/cache.h"
#include "os/noise.h"
#include "plan/plan.h"

namespace blksweep {
namespace {

constexpr std::int64_t kLimitHolds = 1'000'000'000;  // ns; a shorter run may be a burst
constexpr double kBeyondLimit = 1.25;

constexpr std::size_t kNamedFailures = 100;
constexpr double kStatDifference = 0.01;  // truth rule: probe and block statistics agree to 1 %

void say(const RunRequest& q, const char* phase) {
  if (q.progress != nullptr) {
    q.progress->phase.store(phase, std::memory_order_relaxed);
  }
}

// Reads that are not aligned go through the page cache.
std::uint32_t unit_of(const PlannedEpoch& planned) { return planned.align > 1 ? 1 : kPageBytes; }

void record_plan(RunRecord& r, const RunRequest& q) {
  const PlanSummary s = summarize(q.source.catalog, q.planned.plan, unit_of(q.planned));
  r.plan_ns = q.planned.plan_ns;
  r.gap_bytes = s.gap_bytes;
  r.seeks = s.seeks;
  // Where no sample can come from the device, the cell is the one that it became (fallback.h).
  r.device_fallbacks =
      q.cell.merge_asked ? q.planned.plan.order.size() : q.planned.plan.device_fallbacks;
  r.window_peak_bytes = q.planned.schedule.window_peak.n;
  r.arena_bytes = memory_of(q.planned).n;
  r.refill = q.cell.workers == 0 ? Maybe<std::uint32_t>(refill_of(q.cell)) : std::nullopt;
  r.submit_batch =
      submit_batch_of(q.cell) > 0 ? Maybe<std::uint32_t>(submit_batch_of(q.cell)) : std::nullopt;
  r.horizon_bytes = q.planned.plan.horizon_peak;
}

std::vector<std::uint32_t> samples_at(const Plan& plan, std::span<const std::uint32_t> positions) {
  std::vector<std::uint32_t> out(positions.size());
  std::ranges::transform(positions, out.begin(), [&](std::uint32_t p) { return plan.order[p]; });
  return out;
}

void record_epoch(RunRecord& r, const RunRequest& q, const Epoch& e) {
  record_batches(r, q.source.catalog, q.planned, e);
  for (const BatchRecord& b : r.batches) {
    r.bytes += b.bytes;
  }
  if (const std::string broken = keep_account(r, lanes_of(q.cell)); !broken.empty()) {
    mark_incomplete(r, "account: " + broken);
  }
}

void record_failures(RunRecord& r, const RunRequest& q, const Epoch& e) {
  const Plan& plan = q.planned.plan;
  for (const ReadFailure& f : e.reader().readiness().failures()) {
    if (r.failed.size() == kNamedFailures) {
      break;
    }
    const Sample s = q.source.catalog.sample(plan.order[f.position]);
    r.failed.push_back(
        {q.source.catalog.full_path(s.file), f.error == 0 ? "the file ends before the catalog says"
                                                          : std::string(std::strerror(f.error))});
  }
}

// Found whether or not the run verifies; verification finds them too, and counts them once.
void record_undecoded(RunRecord& r, const RunRequest& q, const Epoch& e) {
  if (e.decode() == nullptr || e.decode()->failed() == 0) {
    return;
  }
  r.wrong_samples = std::max(r.wrong_samples.value_or(0), e.decode()->failed());
  for (const DecodeFailure& f : e.decode()->failures()) {
    const std::uint32_t position =
        position_of_part(q.planned.schedule, e.reader().readiness().failed(), f.batch, f.part);
    const Sample s = q.source.catalog.sample(q.planned.plan.order[position]);
    const std::string where = s.offset == 0 ? "" : fmt::format("sample at byte {}: ", s.offset);
    r.failed.push_back({q.source.catalog.full_path(s.file), kDecode + where + f.why});
  }
}

bool unpacks(const Epoch& e) { return e.decode() != nullptr && !e.decode()->spins(); }

// A batch that a stop or a fault caught halfway does not count, as in the batches and the account.
// Returns the samples in the order in which they came.
std::vector<std::uint32_t> record_delivery(RunRecord& r, const RunRequest& q, const Epoch& e) {
  for (const BatchRecord& batch : r.batches) {
    r.samples += batch.samples;
  }
  const auto delivered = std::span(e.delivery().delivered()).first(r.samples);
  const DeliveryCount count = count_delivered(q.planned.plan, delivered);
  std::vector<std::uint32_t> emitted = samples_at(q.planned.plan, delivered);
  r.missing_samples = count.missing;
  r.emission_hash = emission_hash(emitted);
  r.quality = quality_of(q.source.catalog, q.cell.order, q.planned, emitted);
  if (q.verify) {
    const Verification v =
        check_hashes(q.source.catalog, q.planned.plan,
                     {delivered, std::span(e.delivery().hashes()).first(r.samples),
                      unpacks(e) ? Delivered::decoded : Delivered::as_stored});
    r.wrong_samples = v.wrong + count.duplicated;
    for (const WrongSample& w : v.named) {
      r.failed.push_back({w.path, kVerify + w.why});
    }
  }
  return emitted;
}

// What the device gave must be what the files hold; verification of everything says it better.
void record_check(RunRecord& r, const RunRequest& q, const SpotCheck* spot) {
  if (spot == nullptr) {
    return;
  }
  const SpotResult checked = spot->compare(q.source);
  r.checked_pieces = checked.pieces;
  r.checked_bytes = checked.bytes;
  r.checked_wrong = checked.found.wrong;
  for (const WrongSample& w : checked.found.named) {
    r.failed.push_back({w.path, kCheck + w.why});
  }
  if (checked.found.wrong > 0) {
    mark_incomplete(r,
                    fmt::format("{} of {} pieces that were checked are not what their files hold",
                                checked.found.wrong, checked.pieces));
  }
}

void record_reads(RunRecord& r, const Epoch& e) {
  const ReadCounts& c = e.reader().counts();
  r.reads_submitted = c.submitted;
  r.read_bytes = c.submitted_bytes;
  r.short_reads = c.short_reads;
  r.staged_reads = e.reader().staged_reads();
  r.io_errors = c.io_errors;
  r.groups_cut = c.groups_cut;
  r.read_latency_ns = e.reader().latency().buckets();
  r.engine_features = e.engine().features;
  const EngineCounts n = e.engine_counts();
  const std::string& at_start = e.engine().refused;
  r.engine_refused = at_start + (at_start.empty() || n.refused.empty() ? "" : "; ") + n.refused;
  r.engine = {n.submit_ns,    n.submit_blocked_ns, n.minor_faults,
              n.major_faults, n.answered_at_once,  n.hinted_bytes};
}

void record_attribution(RunRecord& r, const RunRequest& q) {
  const bool is_known = q.reader == nullptr && r.probe->self != 0;
  const std::span<const std::uint32_t> ours(&r.probe->self, is_known ? 1 : 0);
  r.probe->attribution = attribution_record(*r.probe, {q.source.catalog, q.planned.plan, ours});
  if (std::string text = attribution_warning(r.probe->attribution); !text.empty()) {
    r.warnings.push_back(std::move(text));
  }
}

void record_map(RunRecord& r, const RunRequest& q, const Epoch& e) {
  if (!r.probe) {
    return;
  }
  const MapProof proof = prove_map(q.source.catalog, q.planned.plan, r.probe->issues, q.cell.depth);
  r.probe->in_plan = proof.in_plan;
  r.probe->plan_order = proof.plan_order;
  mark_reads(r.probe->issues, q.source.catalog, q.planned.plan, q.planned.schedule);
  if (q.cell.workers == 0) {  // of several there is no one order
    r.probe->order = order_records(
        *r.probe, {q.source.catalog, q.planned.plan, q.cell.depth, e.reader().submissions()});
  }
  record_attribution(r, q);
}

void record_stages(RunRecord& r, const Epoch& e) {
  if (const std::string means = e.copy() != nullptr ? e.copy()->means() : ""; !means.empty()) {
    r.engine_features += (r.engine_features.empty() ? "" : "; ") + means;
  }
  record_clock(r, e.copy() != nullptr ? e.copy()->alignment() : std::nullopt);
  record_clock(r, e.consumer() != nullptr ? e.consumer()->alignment() : std::nullopt);
}

void warn_of(RunRecord& r, const RunRequest& q, const Epoch& e) {
  r.warnings.insert(r.warnings.end(), q.source.warnings.begin(), q.source.warnings.end());
  if (q.planned.plan.device_fallbacks > 0) {
    r.warnings.push_back(fmt::format(
        "merge=device: {} of {} samples had to be read through their files (inline, encoded, "
        "unwritten or unaligned extents, which the device cannot give)",
        format_count(*r.device_fallbacks), format_count(q.planned.plan.order.size())));
  }
  const bool planned = q.cell.workers == 0;  // workers have no depth, and open what they read
  if (planned && e.engine().depth < q.cell.depth) {
    r.warnings.push_back(fmt::format("engine {} keeps {} read in flight; --depth {} has no effect",
                                     e.engine().name, e.engine().depth, q.cell.depth));
  }
  if (planned && e.slots().scarce(q.source.catalog.files.size()) && opens_files(q.planned.plan)) {
    r.warnings.push_back(fmt::format(
        "RLIMIT_NOFILE leaves {} slots for open files: opening holds reads back (ulimit -n)",
        e.slots().slots));
  }
  if (!r.engine_refused.empty()) {
    r.warnings.push_back("engine: refused by the kernel: " + r.engine_refused);
  }
}

// What lets a run be faster than a limit for seconds is no burst: other disks than the limited one.
void warn_of_limit(RunRecord& r, const RunRequest& q) {
  const std::optional<Bytes>& limit = q.cell.node.bandwidth_limit;
  if (!limit || !r.own_read_bytes || r.epoch_ns < kLimitHolds) {
    return;
  }
  const double rate =
      static_cast<double>(*r.own_read_bytes) * 1e9 / static_cast<double>(r.epoch_ns);
  if (rate > kBeyondLimit * static_cast<double>(limit->n)) {
    r.warnings.push_back(
        fmt::format("bandwidth-limit: this process read {}/s under a limit of {}/s, which holds on "
                    "{} only: the "
                    "data is on other disks, too",
                    format_bytes({static_cast<std::uint64_t>(rate)}), format_bytes(*limit),
                    q.source.device ? q.source.device->disk : "one disk"));
  }
}

void warn_of_quota(RunRecord& r) {
  if (r.noise && r.noise->throttled_ns) {
    if (std::string text = quota_warning(*r.noise->throttled_ns, r.epoch_ns); !text.empty()) {
      r.warnings.push_back(std::move(text));
    }
  }
}

Result<EpochOutcome> run_observed(Epoch& epoch, const RunRequest& q, RunRecord& r) {
  std::vector<std::unique_ptr<Observer>> observers = observers_of(q);
  for (const auto& o : observers) {
    BLKSWEEP_CHECK(o->begin());
  }
  BLKSWEEP_TRY(EpochOutcome outcome, epoch.run(q.stop));
  for (; !observers.empty(); observers.pop_back()) {
    BLKSWEEP_CHECK(observers.back()->end(r));
  }
  return outcome;
}

// Without its stages nothing was read.
MeasuredRun not_begun(RunRecord r, const RunRequest& q, const Error& refused) {
  r.started_unix_ns = unix_ns();
  r.missing_samples = q.planned.plan.order.size();
  mark_incomplete(r, refused.message());
  return {std::move(r), false, refused};
}

}  // namespace

void judge_run(RunRecord& r, const RunRequest& q, const EpochOutcome& outcome) {
  warn_of_limit(r, q);
  warn_of_quota(r);
  withhold_unsure_depth(r);
  judge_gpu_times(r);
  if (outcome.interrupted) {
    mark_incomplete(r, "interrupted");
  }
  if (outcome.fault) {
    mark_incomplete(r, outcome.fault->message());
  }
  if (const std::string lost = q.node.lost(); !lost.empty()) {
    mark_incomplete(r, lost);
  }
  if (r.missing_samples > 0) {
    mark_incomplete(r, fmt::format("{} samples missing{}", format_count(r.missing_samples),
                                   first_failed(r, false)));
  }
  if (r.wrong_samples.value_or(0) > 0) {
    mark_incomplete(r, fmt::format("{} samples wrong{}", format_count(*r.wrong_samples),
                                   first_failed(r, true)));
  }
  if (r.page_cache && r.page_cache->lost_events > 0) {
    mark_incomplete(
        r, fmt::format("cache probe lost {} events", format_count(r.page_cache->lost_events)));
  }
  if (r.probe && r.probe->lost_events > 0) {
    mark_incomplete(r, fmt::format("probe lost {} events", format_count(r.probe->lost_events)));
  }
  if (r.probe && r.probe->stat_difference.value_or(0) > kStatDifference) {
    mark_incomplete(r, fmt::format("probe and block statistics differ by {:.1f} %",
                                   *r.probe->stat_difference * 100));
  }
}

Result<StartState> enter_cache_state(const Catalog& catalog, CacheState cache, RunNode& node) {
  CacheChange change;
  if (cache == CacheState::keep) {
    change.after = measure(catalog);
  } else if (cache == CacheState::cold) {
    change = make_cold(catalog, {node.pinned_bytes()});
  } else if (node.limits_memory()) {
    // Pages count where they were first touched: those of before would be outside the limit.
    make_cold(catalog, {node.pinned_bytes()});
    BLKSWEEP_CHECK(node.inside([&] { change = warm(catalog); }));
  } else {
    change = warm(catalog);
  }
  if (cache == CacheState::drop_pages || cache == CacheState::drop_inodes) {
    const DropKind kind = cache == CacheState::drop_pages ? DropKind::pages : DropKind::inodes;
    BLKSWEEP_TRY(change, drop_after(std::move(change), catalog, kind));
  }
  return StartState{known_share(change.after), unexamined(change.after),
                    std::move(change.warnings)};
}

Result<MeasuredRun> measure_run(const RunRequest& q) {
  const bool checks = q.check && !q.verify && reads_device(q.planned.plan);
  std::optional<SpotCheck> spot;
  if (checks) {
    spot.emplace(q.source.catalog, q.planned.plan, q.planned.schedule, q.seed);
  }
  BLKSWEEP_TRY(const auto epoch,
               Epoch::prepare(q.source, q.cell, q.planned,
                              {.seed = q.seed,
                               .verify = q.verify,
                               .progress = q.progress,
                               .place = q.node.place_threads(),
                               .makers = q.makers,
                               .spot = spot ? &*spot : nullptr,
                               .descriptors = q.cache_probe ? q.cache_probe->descriptors() : 0}));
  RunRecord r;
  r.repeat = q.repeat;
  r.seed = q.seed;
  record_plan(r, q);
  if (epoch->refused()) {
    return not_begun(std::move(r), q, *epoch->refused());
  }
  say(q, "caches");
  BLKSWEEP_TRY(StartState start, enter_cache_state(q.source.catalog, q.cell.cache, q.node));
  look_for_holders(start, q);
  r.resident_before = start.resident;
  r.warnings = std::move(start.warnings);
  r.started_unix_ns = unix_ns();
  say(q, "reading");
  BLKSWEEP_TRY(const EpochOutcome outcome, run_observed(*epoch, q, r));
  r.begin_ns = outcome.begin_ns;
  r.epoch_ns = outcome.end_ns - outcome.begin_ns;
  r.cpu_ns = outcome.cpu_ns;
  say(q, q.verify ? "verifying" : "recording");
  if (q.addresses != nullptr) {
    record_addresses(q.addresses->after(q.source), r);
  }
  record_check(r, q, spot ? &*spot : nullptr);
  record_reads(r, *epoch);
  record_map(r, q, *epoch);
  record_stages(r, *epoch);
  record_epoch(r, q, *epoch);
  record_failures(r, q, *epoch);
  std::vector<std::uint32_t> emitted = record_delivery(r, q, *epoch);
  record_undecoded(r, q, *epoch);
  warn_of(r, q, *epoch);
  judge_run(r, q, outcome);
  judge_caches(r, q, start, !outcome.interrupted && !outcome.fault && r.missing_samples == 0);
  return MeasuredRun{std::move(r), outcome.interrupted, outcome.fault, std::move(emitted)};
}

}  // namespace blksweep
