#include "loader/loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <system_error>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "loader/address_proof.h"
#include "loader/batch_parts.h"
#include "loader/epoch.h"
#include "loader/loader_data.h"
#include "loader/loader_options.h"
#include "loader/most_held.h"
#include "loader/read_ahead.h"
#include "loader/stages.h"

namespace blksweep {
namespace {

// A catalog made now is made anew where a file moved since; an old one is refused, and one whose
// samples would get other numbers.
Result<> settle_addresses(std::shared_ptr<const Source>& source, AddressProof& proof) {
  BLKSWEEP_TRY(const ExtentCheck check, proof.before(*source));
  if (const std::string stale = stale_catalog(*source, check); !stale.empty()) {
    return fail(stale);
  }
  if (!check.clean()) {
    BLKSWEEP_TRY(Source now, open_source(source->origin));
    if (const std::string other = other_files(*source, now); !other.empty()) {
      return fail(other);
    }
    source = std::make_shared<const Source>(std::move(now));
  }
  return {};
}

}  // namespace

struct Loader::State {
  std::shared_ptr<const LoaderData> data;
  std::shared_ptr<const Source> source;  // that of `data`, or a newer look at the same files
  LoaderSettings settings;
  std::uint64_t seed = 1;
  bool watched = false;
  PlannedEpoch planned;
  std::uint32_t most_held = 1;
  std::optional<AddressProof> proof;
  std::optional<SpotCheck> spot;

  std::unique_ptr<Epoch> epoch;  // made and run by `reader`
  std::atomic<bool> stop{false};
  std::atomic<bool> may_read{false};
  std::optional<Error> broken;  // written by `reader`, read after it has ended
  std::thread reader;

  std::uint32_t taken = 0, released = 0;
  LoaderStats stats;
  std::int64_t began = 0;                       // reading
  std::vector<std::vector<LoadedSample>> held;  // most_held of them, used in turn
  bool ended = false;
  std::string error;

  Result<> begin(const LoaderOptions& options);
  Result<> look_before();
  bool look_spared();
  Result<> plan(const LoaderOptions& options);
  void count_plan();
  void count(std::int64_t asked);
  Result<> start();
  void read(std::promise<Result<>> prepared);
  void gather(std::uint32_t batch, std::vector<LoadedSample>& out);
  void end();
  std::string faults();
};

Result<> Loader::State::begin(const LoaderOptions& options) {
  seed = options.seed;
  BLKSWEEP_TRY(watched, is_watched(options.check));
  BLKSWEEP_TRY(settings, settings_of(options));
  source = data->state_->source;
  if (source->catalog.samples() == 0) {
    return fail(fmt::format("{}: there are no samples", source->catalog.root));
  }
  if (settings.merge == Merge::device) {
    if (const std::string why = device_refusal(*source); !why.empty()) {
      return unsupported(fmt::format("merge = \"device\" is refused here: {}", why));
    }
  }
  proof.emplace(*source, settings);
  BLKSWEEP_CHECK(look_before());
  BLKSWEEP_CHECK(plan(options));
  count_plan();
  if (planned.plan.order.empty()) {  // more ranks than samples
    ended = true;
    return {};
  }
  most_held = most_held_batches(planned.plan, planned.schedule);
  if (settings.decode_threads > 0) {
    most_held = std::min(most_held, decode_slots(settings));
  }
  held.resize(most_held);
  if (reads_device(planned.plan) && !(look_spared() && data->state_->proven_since())) {
    spot.emplace(source->catalog, planned.plan, planned.schedule, seed);
  }
  may_read = !options.held;
  return start();
}

// Whether nothing can have changed since the files were compared last.
bool Loader::State::look_spared() {
  return watched && source == data->state_->source && other_filesystem(*source).empty() &&
         data->state_->untouched();
}

Result<> Loader::State::look_before() {
  if (look_spared()) {
    proof->spared(data->state_->folder_times());
    return {};
  }
  const std::int64_t begin = now_ns();
  data->state_->begin_look(std::string(source->catalog.root));
  BLKSWEEP_CHECK(settle_addresses(source, *proof));
  if (source == data->state_->source) {
    data->state_->looked();
  }
  stats.check_ns += now_ns() - begin;
  return {};
}

Result<> Loader::State::plan(const LoaderOptions& options) {
  if (!options.prefetch) {
    settings.prefetch = chosen_prefetch(source->catalog, settings);
  }
  BLKSWEEP_TRY(planned, plan_epoch(*source, settings, seed));
  if (!options.depth) {
    set_depth(chosen_depth(planned.plan, settings), settings, planned);
  }
  return {};
}

void Loader::State::count_plan() {
  for (const Read& r : planned.plan.reads) {
    if (r.source != kZeros) {
      ++stats.reads;
      stats.read_bytes += r.length;
    }
  }
  stats.window_bytes = planned.schedule.window_peak.n;
  stats.memory_bytes = memory_of(planned).n;
  stats.depth = settings.depth;
  stats.prefetch = settings.prefetch;
  stats.plan_ns = planned.plan_ns;
}

// A batch that was asked for at `asked`.
void Loader::State::count(std::int64_t asked) {
  const std::int64_t now = now_ns();
  ++stats.batches;
  stats.waited_ns += now - asked;
  stats.epoch_ns = now - began;
  if (stats.first_batch_ns == 0) {
    stats.first_batch_ns = now - began;
  }
}

Result<> Loader::State::start() {
  std::promise<Result<>> prepared;
  std::future<Result<>> made = prepared.get_future();
  reader = std::thread([this, p = std::move(prepared)]() mutable { read(std::move(p)); });
  began = now_ns();
  return made.get();
}

// The ring belongs to the thread that makes it.
void Loader::State::read(std::promise<Result<>> prepared) {
  auto made = Epoch::prepare(*source, settings, planned,
                             {.seed = seed,
                              .spot = spot ? &*spot : nullptr,
                              .memory = &data->state_->memory,
                              .pulled = true});
  if (!made) {
    prepared.set_value(tl::unexpected(made.error()));
    return;
  }
  epoch = *std::move(made);
  prepared.set_value({});
  may_read.wait(false);
  const Result<EpochOutcome> outcome = epoch->run(stop);
  if (!outcome) {
    broken = outcome.error();
  } else if (outcome->fault) {
    broken = outcome->fault;
  }
}

void Loader::State::gather(std::uint32_t batch, std::vector<LoadedSample>& out) {
  const std::span<const BatchPart> parts = epoch->delivery().parts(batch);
  const Schedule& schedule = planned.schedule;
  out.clear();
  each_part(schedule, epoch->reader().readiness().failed(), batch, [&](std::uint32_t i) {
    const BatchPart& part = parts[out.size()];
    const std::uint32_t sample = planned.plan.order[schedule.emission[i]];
    out.push_back({part.data, part.bytes, sample, source->catalog.sample(sample).label,
                   planned.places.empty() ? i : planned.places[i]});
    stats.bytes += part.bytes;
  });
  stats.samples += static_cast<std::uint32_t>(out.size());
}

void Loader::State::end() {
  if (ended) {
    return;
  }
  ended = true;
  while (released < taken) {
    epoch->delivery().give_back(released++);
  }
  if (reader.joinable()) {
    reader.join();
  }
  error = faults();
}

std::string Loader::State::faults() {
  if (broken) {
    return broken->message();
  }
  if (stop.load()) {
    return fmt::format("interrupted after {} of {} batches", taken, planned.schedule.batches());
  }
  if (const auto& failures = epoch->reader().readiness().failures(); !failures.empty()) {
    const std::uint32_t sample = planned.plan.order[failures.front().position];
    return fmt::format("{} samples could not be read (first: {}: {})", failures.size(),
                       source->catalog.full_path(source->catalog.sample(sample).file),
                       failures.front().error == 0
                           ? "the file is shorter than it was"
                           : std::generic_category().message(failures.front().error));
  }
  if (!look_spared()) {
    const std::int64_t begin = now_ns();
    const AddressFindings found = proof->after(*source);
    stats.check_ns += now_ns() - begin;
    if (!found.wrong.empty()) {
      return found.wrong.front();
    }
  }
  if (spot) {
    if (const SpotResult checked = spot->compare(*source); checked.found.wrong > 0) {
      const WrongSample& first = checked.found.named.front();
      return fmt::format(
          "{} of {} samples that were compared differ from their files (first: {}: {})",
          checked.found.wrong, checked.pieces, first.path, first.why);
    }
    if (source == data->state_->source) {
      data->state_->proven();
    }
  }
  return {};
}

Loader::Loader(std::unique_ptr<State> state) : state_(std::move(state)) {}

Loader::~Loader() {
  interrupt();
  if (state_->reader.joinable()) {
    state_->reader.join();
  }
}

std::unique_ptr<Loader> Loader::open(const LoaderOptions& options, std::string& error) {
  auto data = LoaderData::open(options.data, options.catalog, error);
  return data ? open(std::move(data), options, error) : nullptr;
}

std::unique_ptr<Loader> Loader::open(std::shared_ptr<const LoaderData> data,
                                     const LoaderOptions& options, std::string& error) {
  std::unique_ptr<Loader> loader(new Loader(std::make_unique<State>()));
  loader->state_->data = std::move(data);
  if (const Result<> begun = loader->state_->begin(options); !begun) {
    error = begun.error().message();
    return nullptr;
  }
  error.clear();
  return loader;
}

std::optional<LoadedBatch> Loader::next() {
  State& s = *state_;
  if (s.ended) {
    return std::nullopt;
  }
  if (s.taken - s.released == s.most_held) {
    s.error = fmt::format("{} batches are out, which is as many as {}", s.most_held,
                          s.settings.decode_threads > 0
                              ? "lie decoded at a time: release() one"
                              : "the window holds: release() one, or open with a larger prefetch");
    return std::nullopt;
  }
  const std::int64_t asked = now_ns();
  if (s.taken == s.planned.schedule.batches() || !s.epoch->delivery().take(s.taken)) {
    s.end();
    return std::nullopt;
  }
  s.count(asked);
  s.error.clear();
  std::vector<LoadedSample>& samples = s.held[s.taken % s.most_held];
  s.gather(s.taken, samples);
  return LoadedBatch{s.taken++, samples};
}

void Loader::release() {
  State& s = *state_;
  if (!s.ended && s.released < s.taken) {
    s.epoch->delivery().give_back(s.released++);
  }
}

void Loader::begin() {
  state_->began = now_ns();
  state_->may_read = true;
  state_->may_read.notify_all();
}

void Loader::interrupt() {
  state_->stop.store(true);
  state_->may_read = true;
  state_->may_read.notify_all();
}
const std::string& Loader::error() const { return state_->error; }
std::uint32_t Loader::most_held() const { return state_->most_held; }
std::uint32_t Loader::batches() const {
  return static_cast<std::uint32_t>(state_->planned.schedule.batches());
}
std::uint32_t Loader::samples() const { return state_->data->samples(); }
std::string Loader::path(std::uint32_t sample) const { return state_->data->path(sample); }
std::string_view Loader::label(std::uint32_t label) const { return state_->data->label(label); }
std::uint32_t Loader::delivers() const {
  return static_cast<std::uint32_t>(state_->planned.plan.order.size() / state_->settings.epochs);
}
LoaderStats Loader::stats() const { return state_->stats; }
std::string Loader::order_hash() const { return blksweep::order_hash(state_->planned); }
bool Loader::wait(std::chrono::nanoseconds most) {
  if (ready()) {
    return true;
  }
  State& s = *state_;
  const std::int64_t asked = now_ns();
  const bool came = s.epoch->delivery().comes(s.taken, most);
  s.stats.waited_ns += now_ns() - asked;
  return came;
}

bool Loader::ready() const {
  const State& s = *state_;
  return s.ended || s.taken - s.released == s.most_held ||
         s.taken == s.planned.schedule.batches() || s.epoch->delivery().has(s.taken);
}

}  // namespace blksweep
