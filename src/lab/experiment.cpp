#include "lab/experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/clock.h"
#include "base/log.h"
#include "base/rng.h"
#include "disk/registry.h"
#include "lab/ceiling.h"
#include "lab/fio_twin.h"
#include "lab/simulate_epoch.h"
#include "os/hostfacts.h"
#include "stage/nvml.h"

namespace blksweep {
namespace {

constexpr std::uint64_t kInterleaveStream = 0x17;

struct Job {
  std::size_t cell;
  std::uint32_t repeat;
};

// Repeat by repeat, the cells of each in random order: with that alone drift falls on either side
// of a pair with equal chance. Drawn anew in every session: one fixed order would have the same
// drift favour the same cells each time that somebody repeats the experiment.
std::vector<Job> interleave(std::size_t cells, std::uint32_t repeats, Rng rng) {
  std::vector<Job> jobs;
  for (std::uint32_t r = 0; r < repeats; ++r) {
    const std::size_t first = jobs.size();
    for (std::size_t c = 0; c < cells; ++c) {
      jobs.push_back({c, r});
    }
    shuffle(std::span(jobs).subspan(first), rng);
  }
  return jobs;
}

class Experiment {
 public:
  Experiment(const Source& source, const ExperimentSettings& settings, ResultStore* store,
             const std::function<void(const RunEvent&)>& on_run, const std::atomic<bool>& stop)
      : source_(source), settings_(settings), store_(store), on_run_(on_run), stop_(stop) {}

  Result<Exit> run();

 private:
  Result<> check_wishes() const;
  Result<> register_cells();
  Result<> measure_ceilings();
  void open_probe();
  Result<> run_job(const Job& job);
  Result<> keep(const Job& job, RunRecord run);
  bool lost(const Job& job);
  void compare(RunRecord& run, const CellSettings& cell, const PlannedCell& planned, RunNode& node);
  Exit exit_code();
  FioSettings fio_settings(const CellSettings& cell) const;
  Result<FioResult> run_twin(const CellSettings& cell, const PlannedCell& planned,
                             RunNode& node) const;
  void add_twin(RunRecord& run, const CellSettings& cell, const PlannedCell& planned,
                RunNode& node);
  void add_prediction(RunRecord& run, const CellSettings& cell, const PlannedCell& planned) const;
  bool finished(const Job& job) const;

  const Source& source_;
  const ExperimentSettings& settings_;
  ResultStore* store_;
  const std::function<void(const RunEvent&)>& on_run_;
  const std::atomic<bool>& stop_;
  std::unique_ptr<BlockProbe> probe_;
  std::string no_probe_;
  std::int64_t experiment_ = 0;
  SessionRecord session_{.id = 1, .started_unix_ns = unix_ns()};  // of a run without a database
  std::vector<std::int64_t> cell_ids_;
  std::vector<std::vector<std::uint32_t>> finished_;  // repeats by cell
  std::size_t done_ = 0, total_ = 0;
  bool cut_short_ = false;    // the last run that was kept is not finished
  std::string gpu_lost_;      // why; empty: it is not
  std::size_t left_out_ = 0;  // runs, because of that
  bool incomplete_ = false;
};

Result<> Experiment::register_cells() {
  finished_.resize(settings_.cells.size());
  if (store_ == nullptr) {
    return {};
  }
  BLKSWEEP_TRY(experiment_, store_->begin_experiment(settings_.host, settings_.key));
  BLKSWEEP_TRY(session_, store_->begin_session(experiment_, settings_.host.argv));
  for (std::size_t c = 0; c < settings_.cells.size(); ++c) {
    BLKSWEEP_TRY(const std::int64_t id, store_->add_cell(experiment_, settings_.cells[c].record));
    cell_ids_.push_back(id);
    BLKSWEEP_TRY(finished_[c], store_->finished_repeats(id));
  }
  return {};
}

bool Experiment::finished(const Job& job) const {
  return std::ranges::find(finished_[job.cell], job.repeat) != finished_[job.cell].end();
}

Result<> Experiment::measure_ceilings() {
  if (!settings_.ceiling || !source_.device || store_ == nullptr) {
    return {};
  }
  CeilingSettings wanted;
  wanted.device_node = source_.device->node;
  wanted.interrupt = &stop_;
  const Ceiling measured = measure_ceiling(wanted);
  for (const std::string& text : measured.warnings) {
    warn(text);
  }
  for (const CeilingRecord& c : measured.records) {
    BLKSWEEP_CHECK(store_->add_ceiling(experiment_, c));
  }
  return {};
}

void Experiment::open_probe() {
  if (!settings_.probe) {
    return;
  }
  if (!source_.device) {
    no_probe_ = "no probe, so no queue depth or request sizes: the data set has no block device";
    return;
  }
  auto probe = open_block_probe(source_.device->whole_disk);
  if (probe) {
    probe_ = *std::move(probe);
  } else {
    no_probe_ = "no probe, so no queue depth or request sizes: " + probe.error().message();
    warn(no_probe_);
  }
}

FioSettings Experiment::fio_settings(const CellSettings& cell) const {
  FioSettings fio;
  fio.engine = cell.engine;
  fio.depth = cell.depth;
  fio.direct = cell.direct && source_.direct_possible;
  fio.device_node = source_.device ? source_.device->node : "";
  fio.interrupt = &stop_;
  return fio;
}

// The twin starts from the same cache state as our run did, and inherits limits and binding.
Result<FioResult> Experiment::run_twin(const CellSettings& cell, const PlannedCell& planned,
                                       RunNode& node) const {
  BLKSWEEP_TRY(FioTwin twin, FioTwin::prepare(source_.catalog, planned.plan, fio_settings(cell)));
  enter_cache_state(source_.catalog, cell.cache, {node.pinned_bytes()});
  BLKSWEEP_CHECK(node.enter());
  Result<FioResult> result = twin.run();
  BLKSWEEP_CHECK(node.leave());
  if (!node.lost().empty()) {  // not under the same limits and pins as our run
    return fail(node.lost());
  }
  return result;
}

void Experiment::add_twin(RunRecord& run, const CellSettings& cell, const PlannedCell& planned,
                          RunNode& node) {
  const Result<FioResult> twin = run_twin(cell, planned, node);
  if (!twin) {
    run.warnings.push_back("no fio twin: " + twin.error().message());
    return;
  }
  run.warnings.insert(run.warnings.end(), twin->warnings.begin(), twin->warnings.end());
  run.fio = twin->record;
  run.fio->ratio = fio_ratio(*twin, run.epoch_ns);
  if (cell.cache == CacheState::cold && settings_.host.rotational == true &&
      opens_files(planned.plan)) {
    run.warnings.emplace_back(
        "cold files on a rotating disk: fio calls stat on every file before its clock starts, so "
        "its time has no inode reads and ours has; compare with --cache keep or --merge device");
  }
}

void Experiment::add_prediction(RunRecord& run, const CellSettings& cell,
                                const PlannedCell& planned) const {
  const auto p = predict_run(source_, cell, planned, {*settings_.predict, run.seed});
  if (!p) {
    run.warnings.push_back("no prediction: " + p.error().message());
    return;
  }
  run.prediction = prediction_record(*p, settings_.predict->model, run.epoch_ns);
  for (const std::string& note : prediction_notes(cell, planned.plan)) {
    run.warnings.push_back("prediction: " + note);
  }
}

// The runs beside ours: of a run that was cut off they would say nothing.
void Experiment::compare(RunRecord& run, const CellSettings& cell, const PlannedCell& planned,
                         RunNode& node) {
  if (settings_.fio_twin) {
    if (settings_.progress != nullptr) {
      settings_.progress->phase.store("fio twin", std::memory_order_relaxed);
    }
    add_twin(run, cell, planned, node);
  }
  if (settings_.predict && !stop_.load()) {
    add_prediction(run, cell, planned);
  }
}

Result<> Experiment::keep(const Job& job, RunRecord run) {
  const ExperimentCell& cell = settings_.cells[job.cell];
  run.session_id = session_.id;
  run.warnings.insert(run.warnings.end(), cell.warnings.begin(), cell.warnings.end());
  if (!no_probe_.empty()) {
    run.warnings.push_back(no_probe_);
  }
  if (store_ != nullptr) {
    BLKSWEEP_TRY([[maybe_unused]] const std::int64_t id, store_->add_run(cell_ids_[job.cell], run));
  }
  incomplete_ = incomplete_ || run.incomplete;
  on_run_({cell, run, ++done_, total_});
  return {};
}

Result<> Experiment::run_job(const Job& job) {
  const CellSettings& cell = settings_.cells[job.cell].settings;
  const std::uint64_t seed = settings_.seed + job.repeat;
  if (settings_.progress != nullptr) {
    settings_.progress->begin_run(done_ + 1, total_);
  }
  BLKSWEEP_TRY(const PlannedCell planned, plan_cell(source_, cell, seed));
  BLKSWEEP_TRY(RunNode node, RunNode::borrow(source_, cell.node, seed, stop_));
  const RunRequest request{source_,          cell, planned,      job.repeat,         seed,
                           settings_.verify, node, probe_.get(), settings_.progress, stop_,
                           settings_.makers};
  BLKSWEEP_TRY(MeasuredRun measured, measure_run(request));
  RunRecord& run = measured.record;
  if (measured.interrupted && run.samples == 0) {
    return {};
  }
  if (measured.fault && needs_gpu(cell) && settings_.makers.gpu_lost()) {
    gpu_lost_ = measured.fault->message();
  }
  if (!measured.interrupted && !measured.fault) {
    compare(run, cell, planned, node);
    if (stop_.load() && settings_.fio_twin && !run.incomplete) {  // the pair is measured again
      run.incomplete = true;
      run.incomplete_reason = "interrupted: the fio twin was cut off";
    }
  }
  BLKSWEEP_CHECK(node.restore());
  cut_short_ = stop_.load() && run.incomplete;
  return keep(job, std::move(run));
}

// Nothing that needs the GPU works any more in this process, whatever it is.
bool Experiment::lost(const Job& job) {
  const bool lost = !gpu_lost_.empty() && needs_gpu(settings_.cells[job.cell].settings);
  left_out_ += lost ? 1 : 0;
  return lost;
}

// Before anything is measured, so that a sweep does not end at its last cell.
Result<> Experiment::check_wishes() const {
  for (const ExperimentCell& cell : settings_.cells) {
    BLKSWEEP_CHECK(RunNode::check(source_, cell.settings.node));
    BLKSWEEP_CHECK(settings_.makers.check(cell.settings));
  }
  return {};
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
                     done_ - (cut_short_ ? 1 : 0), total_,
                     cut_short_ ? ", and what the last one had delivered" : ""));
    return Exit::interrupted;
  }
  return incomplete_ || left_out_ > 0 ? Exit::incomplete : Exit::done;
}

Result<Exit> Experiment::run() {
  BLKSWEEP_CHECK(check_wishes());
  BLKSWEEP_CHECK(register_cells());
  BLKSWEEP_CHECK(measure_ceilings());
  open_probe();
  const auto started = static_cast<std::uint64_t>(session_.started_unix_ns);
  std::vector<Job> jobs = interleave(settings_.cells.size(), settings_.repeats,
                                     Rng(settings_.seed, kInterleaveStream + started));
  const std::size_t asked = jobs.size();
  std::erase_if(jobs, [this](const Job& j) { return finished(j); });
  if (jobs.size() < asked) {
    note(fmt::format("{} of {} runs are in the database already; going on with the rest",
                     asked - jobs.size(), asked));
  }
  total_ = jobs.size();
  for (const Job& job : jobs) {
    if (!stop_.load() && !lost(job)) {
      BLKSWEEP_CHECK(run_job(job));
    }
  }
  return exit_code();
}

}  // namespace

Result<Exit> run_experiment(const Source& source, const ExperimentSettings& settings,
                            ResultStore* store, const std::function<void(const RunEvent&)>& on_run,
                            const std::atomic<bool>& stop) {
  return Experiment(source, settings, store, on_run, stop).run();
}

HostRecord describe_host(const Source& source) {
  const HostFacts facts = read_host_facts();
  HostRecord h;
  h.kernel = facts.kernel;
  h.cpu = facts.cpu;
  h.hostname = facts.hostname;
  h.cpus = facts.cpus;
  h.memory_bytes = facts.memory_bytes;
  h.cgroup = facts.cgroup;
  h.gpu = gpu_of_node();
  if (source.mount) {
    h.filesystem = source.mount->filesystem;
    h.mount_options = source.mount->options;
  }
  if (source.device) {
    h.device = source.device->node;
    if (const auto emulated = emulated_disk(source.device->disk)) {
      h.device_model = emulated->hardware_name();
    }
    h.queue = queue_settings(source.device->disk);
    for (const auto& [name, value] : h.queue) {
      if (name == "scheduler") {
        h.scheduler = value;
      } else if (name == "rotational") {
        h.rotational = value == "1";
      }
    }
  }
  return h;
}

}  // namespace blksweep
