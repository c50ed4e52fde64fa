#include "experiment/pair.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/rng.h"
#include "experiment/fio_engine.h"
#include "experiment/fio_twin.h"
#include "os/block/disk_use.h"
#include "os/process/standstill.h"

namespace blksweep {
namespace {

constexpr std::uint64_t kPairStream = std::uint64_t{0x7061} << 32;  // + stream

enum class Arm { ours, grouped, plain };

std::vector<Arm> draw_arms(const PairRequest& q) {
  std::vector<Arm> arms{Arm::ours};
  if (q.arms.grouped) {
    arms.push_back(Arm::grouped);
  }
  if (q.arms.plain) {
    arms.push_back(Arm::plain);
  }
  Rng rng(q.seed, kPairStream + q.stream);
  shuffle(std::span(arms), rng);
  return arms;
}

// Reads of the device are direct whatever the cell says of files (loader/file_slots.h).
bool twin_is_direct(const PairRequest& q) {
  return (q.cell.direct && q.source.direct_possible) || reads_device(q.planned.plan);
}

// A job of fio reads one list of reads at one depth.
std::string no_twin_because(const CellSettings& cell) {
  if (cell.workers > 1) {
    return fmt::format("{} workers read a batch each, and a replayed list is one job of fio's",
                       cell.workers);
  }
  if (const FioEngine& fio = fio_engine(cell.engine); fio.ioengine.empty()) {
    return std::string(fio.without);
  }
  return cell.workers == 1 && cell.scope == ReadScope::batch
             ? "a worker opens the files of a whole batch, then reads, and fio does not"
             : "";
}

FioSettings fio_settings(const PairRequest& q, Arm arm) {
  FioSettings fio;
  fio.engine = q.cell.engine;
  fio.depth = q.cell.depth;
  fio.refill = arm == Arm::grouped ? refill_of(q.cell) : 0;
  fio.direct = twin_is_direct(q);
  fio.device_node = q.source.device ? q.source.device->node : "";
  const bool counted = q.source.device && counting_stat(q.source.device->disk);
  fio.disk = counted ? q.source.device->disk : "";
  fio.interrupt = &q.stop;
  return fio;
}

class Pair {
 public:
  explicit Pair(const PairRequest& q) : q_(q) {}
  Result<MeasuredRun> run();

 private:
  Result<MeasuredRun> run_ours();
  Result<FioResult> run_twin(Arm arm);
  void add_twin(Arm arm, std::uint32_t position);
  void settle(MeasuredRun& measured);
  void judge(Maybe<FioRecord>& twin, RunRecord& run);
  void say(const char* phase) const {
    if (q_.progress != nullptr) {
      q_.progress->phase.store(phase, std::memory_order_relaxed);
    }
  }

  const PairRequest& q_;
  Maybe<FioRecord> grouped_, plain_;
  std::vector<std::string> warnings_;  // of the twins
};

// What was measured, unless the node cannot be put back.
template <class T>
Result<T> put_back(RunNode& node, Result<T> measured) {
  const Result<> restored = node.restore();
  return restored ? std::move(measured) : Result<T>(tl::unexpected(restored.error()));
}

Result<MeasuredRun> Pair::run_ours() {
  BLKSWEEP_TRY(RunNode node, RunNode::borrow(q_.source, q_.cell.node, q_.seed, q_.stop));
  const RunRequest request{q_.source,      q_.cell,     q_.planned,   q_.repeat, q_.seed,
                           q_.verify,      q_.check,    q_.addresses, node,      q_.probe,
                           q_.cache_probe, q_.progress, q_.stop,      q_.makers};
  return put_back(node, measure_run(request));
}

// What happens beside fio that its own report does not tell.
class Beside {
 public:
  explicit Beside(const Source& source) : source_(source), before_(stat()) {}

  std::string disturbed() const {
    const std::string held = standstill_.seen();
    return !held.empty() ? held + ": fio may have been held, too" : writes();
  }

 private:
  Result<DiskStat> stat() const {
    return source_.device ? counting_stat(source_.device->disk) : Result<DiskStat>(fail("no disk"));
  }
  std::string writes() const {
    const Result<DiskStat> after = stat();
    if (!before_ || !after) {
      return "";
    }
    const DiskStat done = *after - *before_;
    return writes_warning(source_.device->disk,
                          writes_beside(done, done.read_sectors * kSectorBytes));
  }

  const Source& source_;
  Result<DiskStat> before_;
  Standstill standstill_;
};

// The probe runs beside fio as beside us: what it costs, it costs both.
Result<FioResult> Pair::run_twin(Arm arm) {
  if (std::string why = no_twin_because(q_.cell); !why.empty()) {
    return unsupported(std::move(why));
  }
  BLKSWEEP_TRY(FioTwin twin,
               FioTwin::prepare(q_.source.catalog, q_.planned.plan, fio_settings(q_, arm)));
  BLKSWEEP_TRY(RunNode node, RunNode::borrow(q_.source, q_.cell.node, q_.seed, q_.stop));
  BLKSWEEP_TRY(const StartState start, enter_cache_state(q_.source.catalog, q_.cell.cache, node));
  BLKSWEEP_CHECK(node.enter());
  const bool probed = q_.probe != nullptr && q_.probe->start();
  const Beside beside(q_.source);
  Result<FioResult> result = twin.run();
  const std::string disturbed = beside.disturbed();
  if (probed) {
    const auto report = q_.probe->stop();
    if (report && result) {
      result->record.probe_requests = report->requests;
    }
  }
  BLKSWEEP_CHECK(node.leave());
  if (std::string lost = node.lost(); !lost.empty()) {  // not under the same limits and pins
    return fail(std::move(lost));
  }
  if (result) {
    result->record.resident_before = start.resident;
    result->record.ratio_reason = disturbed;
    std::ranges::transform(start.warnings, std::back_inserter(result->warnings),
                           [](const std::string& w) { return "fio twin: " + w; });
  }
  return put_back(node, std::move(result));
}

void Pair::add_twin(Arm arm, std::uint32_t position) {
  say("fio twin");
  Result<FioResult> twin = run_twin(arm);
  if (!twin) {
    warnings_.push_back("no fio twin: " + twin.error().message());
    return;
  }
  for (std::string& text : twin->warnings) {
    if (std::ranges::find(warnings_, text) == warnings_.end()) {
      warnings_.push_back(std::move(text));
    }
  }
  twin->record.arm = arm == Arm::plain ? "plain" : "grouped";
  twin->record.position = position;
  (arm == Arm::plain ? plain_ : grouped_) = std::move(twin->record);
}

void Pair::judge(Maybe<FioRecord>& twin, RunRecord& run) {
  if (!twin) {
    return;
  }
  const double seconds = static_cast<double>(twin->runtime_ns) / 1e9;
  twin->bytes_per_s = static_cast<double>(run.bytes) / seconds;
  if (twin->ratio_reason.empty()) {
    twin->ratio_reason = no_ratio_because(q_, run, *twin);
  }
  twin->requests_reason = requests_differ_because(q_, run, *twin);
  if (twin->ratio_reason.empty()) {
    twin->ratio = static_cast<double>(twin->runtime_ns) / static_cast<double>(run.epoch_ns);
  } else {
    run.warnings.push_back(
        fmt::format("no ratio to the {} fio twin: {}", twin->arm, twin->ratio_reason));
  }
}

void Pair::settle(MeasuredRun& measured) {
  RunRecord& run = measured.record;
  run.warnings.insert(run.warnings.end(), warnings_.begin(), warnings_.end());
  judge(grouped_, run);
  judge(plain_, run);
  run.fio = std::move(grouped_);
  run.fio_plain = std::move(plain_);
}

Result<MeasuredRun> Pair::run() {
  const std::vector<Arm> arms = draw_arms(q_);
  std::optional<MeasuredRun> measured;
  for (std::uint32_t i = 0; i < arms.size() && !q_.stop.load(); ++i) {
    if (arms[i] != Arm::ours) {
      add_twin(arms[i], i);
      continue;
    }
    BLKSWEEP_TRY(measured, run_ours());
    measured->record.pair_position = arms.size() > 1 ? Maybe<std::uint32_t>(i) : std::nullopt;
    if (measured->interrupted || measured->fault) {
      break;  // beside a run that was cut off a twin would say nothing
    }
  }
  if (!measured) {  // stopped before it was our turn
    return MeasuredRun{{}, true, std::nullopt};
  }
  RunRecord& run = measured->record;
  if (q_.stop.load() && arms.size() > 1 && !run.incomplete) {  // the pair is measured again
    run.incomplete = true;
    run.incomplete_reason = "interrupted: the fio twin was cut off";
  }
  settle(*measured);
  return *std::move(measured);
}

}  // namespace

Result<FioSettings> twin_settings(const PairRequest& request, bool grouped) {
  if (const std::string why = no_twin_because(request.cell); !why.empty()) {
    return unsupported("fio: no twin: " + why);
  }
  return fio_settings(request, grouped ? Arm::grouped : Arm::plain);
}

Result<MeasuredRun> measure_pair(const PairRequest& request) { return Pair(request).run(); }

}  // namespace blksweep
