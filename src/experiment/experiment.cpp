#include "experiment/experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <set>

#include "base/clock.h"
#include "base/log.h"
#include "experiment/ceiling_round.h"
#include "experiment/describe_host.h"
#include "experiment/prediction_notes.h"
#include "experiment/probes.h"
#include "experiment/proof/incomplete.h"
#include "experiment/record/spin_record.h"
#include "experiment/rounds.h"
#include "experiment/settle_source.h"
#include "os/block/layer_facts.h"
#include "store/result_reader.h"

namespace blksweep {
namespace {

constexpr std::uint32_t kMostTags = 1 << 16;  // no kernel takes more: bounds the probe's memory

// The greatest nr_requests that any cell sets: the probe is made before they are set.
std::uint32_t largest_queue(const std::vector<ExperimentCell>& cells) {
  std::uint32_t most = 0;
  for (const ExperimentCell& cell : cells) {
    most = std::max(most, cell.settings.node.nr_requests.value_or(0));
  }
  return std::min(most, kMostTags);
}

// The runs of earlier sessions, for intervals; those of a start without a database: none.
Result<std::vector<StoredRun>> runs_before(const ResultStore* store, std::int64_t experiment) {
  if (store == nullptr) {
    return std::vector<StoredRun>{};
  }
  BLKSWEEP_TRY(ResultReader reader, ResultReader::open(store->name()));
  return reader.runs(experiment);
}

// The engine that reads nothing leaves memory as it was.
bool reads_data(const CellSettings& cell) { return cell.engine != EngineKind::no_op; }

class Experiment {
 public:
  Experiment(const Source& source, const ExperimentSettings& settings, ResultStore* store,
             const std::function<void(const RunEvent&)>& on_run, const std::atomic<bool>& stop)
      : source_(source), settings_(settings), store_(store), on_run_(on_run), stop_(stop) {}

  Result<Exit> run();

 private:
  Result<> register_cells();
  bool wants_ceilings() const;
  Result<> measure_ceiling_of(std::uint32_t round);
  void mark_changed_conditions(RunRecord& run) const;
  void open_probes_of_runs();
  Result<> run_job(const RoundJob& job);
  Maybe<SpinTime> time_cpu() const;
  bool wants_prediction(const CellSettings& cell) const;
  Result<> try_peers();
  Result<> keep(const RoundJob& job, MeasuredRun measured);
  bool lost(const RoundJob& job);
  Result<Repeats> begin_repeats();
  Result<> run_rounds();
  Result<> run_round(const std::vector<RoundJob>& jobs);
  Result<> tell_round();
  Exit exit_code();

  Source source_;  // made anew where its files were moved
  const ExperimentSettings& settings_;
  ResultStore* store_;
  const std::function<void(const RunEvent&)>& on_run_;
  const std::atomic<bool>& stop_;
  Probes probes_;
  std::int64_t experiment_ = 0;
  SessionRecord session_{.id = 1, .started_unix_ns = unix_ns()};  // of a run without a database
  std::vector<std::int64_t> cell_ids_;
  std::optional<Repeats> repeats_;
  std::size_t done_ = 0;
  std::set<std::string> ceiling_warnings_;  // each is said once
  bool cut_short_ = false;                  // the last run that was kept is not finished
  std::string gpu_lost_;                    // why; empty: it is not
  std::size_t left_out_ = 0;                // runs, because of that
  bool incomplete_ = false;
};

Result<> Experiment::register_cells() {
  if (store_ == nullptr) {
    return {};
  }
  BLKSWEEP_TRY(experiment_, store_->begin_experiment(settings_.host, settings_.key));
  BLKSWEEP_TRY(session_, store_->begin_session(experiment_, settings_.command));
  for (const ExperimentCell& cell : settings_.cells) {
    BLKSWEEP_TRY(const std::int64_t id, store_->add_cell(experiment_, cell.record));
    cell_ids_.push_back(id);
  }
  return {};
}

Result<Repeats> Experiment::begin_repeats() {
  std::vector<std::vector<std::uint32_t>> finished(settings_.cells.size());
  SummaryInput before;
  for (std::size_t c = 0; c < settings_.cells.size(); ++c) {
    std::int64_t id = static_cast<std::int64_t>(c + 1);
    if (store_ != nullptr) {
      id = cell_ids_[c];
      BLKSWEEP_TRY(finished[c], store_->finished_repeats(id));
    }
    before.cells.push_back({id, settings_.cells[c].record});
  }
  if (settings_.precision) {
    BLKSWEEP_TRY(before.runs, runs_before(store_, experiment_));
  }
  return Repeats(settings_.repeats, settings_.precision, std::move(finished), std::move(before));
}

bool Experiment::wants_ceilings() const {
  return settings_.ceiling && source_.device && store_ != nullptr;
}

Result<> Experiment::measure_ceiling_of(std::uint32_t round) {
  if (settings_.progress != nullptr) {
    settings_.progress->phase.store("ceiling", std::memory_order_relaxed);
  }
  const bool cold = std::ranges::any_of(settings_.cells, [](const ExperimentCell& c) {
    return c.settings.cache == CacheState::cold;
  });
  const Ceiling measured = ceiling_of_round(source_, {settings_.seed, round, cold, &stop_});
  for (const std::string& text : measured.warnings) {
    if (ceiling_warnings_.insert(text).second) {
      warn(text);
    }
  }
  if (const std::string changed = changed_conditions(settings_.host, source_); !changed.empty()) {
    warn("a ceiling is left out: " + changed);
    return {};
  }
  for (const CeilingRecord& c : measured.records) {
    BLKSWEEP_CHECK(store_->add_ceiling(experiment_, c));
  }
  return {};
}

void Experiment::open_probes_of_runs() {
  probes_ = open_probes(source_, {.block = settings_.probe,
                                  .layers = settings_.probe_layers,
                                  .cache = settings_.probe_cache,
                                  .requests = largest_queue(settings_.cells)});
  if (source_.device) {  // without one there is no disk to watch, which the runs say
    std::ranges::for_each(probes_.refused, [](const std::string& text) { warn(text); });
  }
}

Result<> Experiment::keep(const RoundJob& job, MeasuredRun measured) {
  RunRecord& run = measured.record;
  const ExperimentCell& cell = settings_.cells[job.cell];
  run.session_id = session_.id;
  run.warnings.insert(run.warnings.end(), cell.warnings.begin(), cell.warnings.end());
  run.warnings.insert(run.warnings.end(), probes_.refused.begin(), probes_.refused.end());
  std::int64_t id = 0;
  if (store_ != nullptr) {
    BLKSWEEP_TRY(id, store_->add_run(cell_ids_[job.cell], run));
  }
  incomplete_ = incomplete_ || run.incomplete;
  repeats_->add(job.cell, run);
  on_run_({cell, run, ++done_, repeats_->runs_expected(), measured.emitted, id});
  return {};
}

Result<> Experiment::run_job(const RoundJob& job) {
  const CellSettings& cell = settings_.cells[job.cell].settings;
  const std::uint64_t seed = settings_.seed + job.repeat;
  if (settings_.progress != nullptr) {
    settings_.progress->begin_run(done_ + 1, repeats_->runs_expected());
  }
  const bool in_ram = cell.control == Control::ram;
  // Nobody moves our copy, and the engine that reads nothing reads nothing by address.
  const bool proven = !in_ram && reads_data(cell);
  AddressProof addresses(in_ram ? *settings_.ram : source_, cell);
  std::vector<std::string> moved;
  if (proven) {
    BLKSWEEP_TRY(moved, settle_addresses(source_, addresses));
  }
  const Source source = part_of(in_ram ? *settings_.ram : source_, cell.read_share);
  BLKSWEEP_TRY(const PlannedEpoch planned, plan_epoch(source, cell, seed));
  const PairRequest request{.source = source,
                            .cell = cell,
                            .planned = planned,
                            .repeat = job.repeat,
                            .seed = seed,
                            .stream = job.cell,
                            .verify = settings_.verify && reads_data(cell),
                            .check = settings_.check && reads_data(cell),
                            .addresses = proven ? &addresses : nullptr,
                            .arms = cell.control == Control::none ? settings_.twins : TwinArms{},
                            .probe = in_ram ? nullptr : probes_.block.get(),
                            .cache_probe = in_ram ? nullptr : probes_.cache.get(),
                            .progress = settings_.progress,
                            .stop = stop_,
                            .makers = settings_.makers};
  const Maybe<SpinTime> before = time_cpu();
  BLKSWEEP_TRY(MeasuredRun measured,
               cell.peer.empty() ? measure_pair(request) : measure_peer(request, settings_.peers));
  RunRecord& run = measured.record;
  record_spin(run, before, time_cpu());
  run.warnings.insert(run.warnings.begin(), moved.begin(), moved.end());
  if (measured.interrupted && run.samples == 0) {
    return {};
  }
  if (measured.fault && needs_gpu(cell) && settings_.makers.gpu_lost()) {
    gpu_lost_ = measured.fault->message();
  }
  if (wants_prediction(cell) && !stop_.load() && !measured.fault) {
    add_prediction(run, *settings_.predict, {source, cell, planned});
  }
  mark_changed_conditions(run);
  if (cell.cache == CacheState::cold && source_.device) {
    std::ranges::move(caches_beneath(source_.device->disk), std::back_inserter(run.warnings));
  }
  cut_short_ = stop_.load() && run.incomplete;
  return keep(job, std::move(measured));
}

Maybe<SpinTime> Experiment::time_cpu() const {
  return settings_.controls ? Maybe<SpinTime>(spin_work()) : std::nullopt;
}

bool Experiment::wants_prediction(const CellSettings& cell) const {
  const bool wanted = cell.control == Control::none ? settings_.predict_all && cell.peer.empty()
                                                    : cell.control == Control::same;
  return settings_.predict && wanted;
}

// Each loader that will be needed, once: what it lacks here is said before anything is measured,
// and what it reads in a form of its own is made, for each size of batch.
Result<> Experiment::try_peers() {
  std::set<std::string> tried;
  for (std::size_t c = 0; c < settings_.cells.size(); ++c) {
    const CellSettings& cell = settings_.cells[c].settings;
    const std::string form = settings_.peers.folder.empty() ? "" : fmt::format("|{}", cell.batch);
    if (cell.peer.empty() || repeats_->nothing_left(c) || stop_.load() ||
        !tried.insert(cell.peer + form).second) {
      continue;
    }
    BLKSWEEP_TRY(const PlannedEpoch planned, plan_epoch(source_, cell, settings_.seed));
    BLKSWEEP_CHECK(try_peer({.source = source_,
                             .cell = cell,
                             .planned = planned,
                             .arms = {},
                             .stop = stop_,
                             .makers = settings_.makers},
                            settings_.peers));
  }
  return {};
}

// The stack under the data, its queue and our limits are facts of the whole experiment: what was
// measured under others is none of it.
void Experiment::mark_changed_conditions(RunRecord& run) const {
  if (const std::string changed = changed_conditions(settings_.host, source_); !changed.empty()) {
    mark_incomplete(run, changed);
  }
}

// Nothing that needs the GPU works any more in this process, whatever it is.
bool Experiment::lost(const RoundJob& job) {
  const bool lost = !gpu_lost_.empty() && needs_gpu(settings_.cells[job.cell].settings);
  left_out_ += lost ? 1 : 0;
  return lost;
}

Exit Experiment::exit_code() {
  if (left_out_ > 0) {
    warn(
        fmt::format("runs left out, because the GPU is lost to this process: {} ({}); the same "
                    "command again goes on with them",
                    left_out_, gpu_lost_));
  }
  if (stop_.load()) {
    warn(fmt::format("interrupted: {} of {} runs are finished and kept{}",
                     done_ - (cut_short_ ? 1 : 0), std::max(done_, repeats_->runs_expected()),
                     cut_short_ ? ", and what the last one had delivered" : ""));
    return Exit::interrupted;
  }
  return incomplete_ || left_out_ > 0 ? Exit::incomplete : Exit::done;
}

Result<> Experiment::run_round(const std::vector<RoundJob>& jobs) {
  for (const RoundJob& job : jobs) {
    if (stop_.load()) {
      return {};
    }
    if (job.ceiling) {
      BLKSWEEP_CHECK(measure_ceiling_of(job.repeat));
    } else if (!lost(job)) {
      BLKSWEEP_CHECK(run_job(job));
    }
  }
  return {};
}

// After each round, so that a crash leaves how far it was.
Result<> Experiment::tell_round() {
  if (!repeats_->by_precision()) {
    return {};
  }
  const RoundEvent event = repeats_->event();
  if (store_ != nullptr) {
    BLKSWEEP_CHECK(store_->keep_stopping(session_.id, event.stopping));
  }
  if (settings_.progress != nullptr) {
    settings_.progress->narrow.store(event.stopping.reached, std::memory_order_relaxed);
    settings_.progress->intervals.store(event.stopping.intervals, std::memory_order_relaxed);
  }
  if (settings_.on_round) {
    settings_.on_round(event);
  }
  return {};
}

Result<> Experiment::run_rounds() {
  RoundDraw draw(settings_.cells.size(), settings_.seed, session_.started_unix_ns,
                 wants_ceilings());
  const auto wanted = [this](const RoundJob& j) { return !repeats_->finished(j.cell, j.repeat); };
  const std::int64_t begin_ns = now_ns();
  if (settings_.progress != nullptr && settings_.precision && settings_.precision->time_limit) {
    settings_.progress->deadline_ns.store(begin_ns + settings_.precision->time_limit->count());
  }
  for (std::uint32_t r = 0; repeats_->another(r, Nanos{now_ns() - begin_ns}); ++r) {
    const std::vector<RoundJob> jobs = draw.next(wanted);
    if (jobs.empty()) {
      continue;
    }
    BLKSWEEP_CHECK(run_round(jobs));
    if (stop_.load() || (repeats_->by_precision() && !gpu_lost_.empty())) {
      repeats_->stop_because(stop_.load() ? "interrupted" : "gpu-lost");
      break;
    }
    repeats_->end_round();
    BLKSWEEP_CHECK(tell_round());
  }
  return tell_round();
}

Result<Exit> Experiment::run() {
  if (!settings_.checked) {
    BLKSWEEP_CHECK(check_experiment(source_, settings_));
  }
  BLKSWEEP_CHECK(register_cells());
  open_probes_of_runs();
  BLKSWEEP_TRY(repeats_, begin_repeats());
  if (const std::size_t stored = repeats_->stored_runs(); stored > 0) {
    note(fmt::format("{} of {} runs are in the database already; going on with the rest", stored,
                     stored + repeats_->runs_expected()));
  }
  BLKSWEEP_CHECK(try_peers());
  BLKSWEEP_CHECK(run_rounds());
  return exit_code();
}

}  // namespace

// So that a sweep does not end at its last cell.
Result<> check_experiment(const Source& source, const ExperimentSettings& settings) {
  for (const ExperimentCell& cell : settings.cells) {
    BLKSWEEP_CHECK(RunNode::check(source, cell.settings.node));
    BLKSWEEP_CHECK(settings.makers.check(cell.settings));
    if (cell.settings.shuffle != Shuffle::none) {  // whether the window is large enough
      const Source part = part_of(source, cell.settings.read_share);
      BLKSWEEP_CHECK(plan_epoch(part, cell.settings, settings.seed));
    }
  }
  return {};
}

Result<Exit> run_experiment(const Source& source, const ExperimentSettings& settings,
                            ResultStore* store, const std::function<void(const RunEvent&)>& on_run,
                            const std::atomic<bool>& stop) {
  return Experiment(source, settings, store, on_run, stop).run();
}

}  // namespace blksweep
