#include "loader/epoch.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "loader/decoded_sizes.h"
#include "loader/memory_check.h"
#include "loader/reader.h"
#include "loader/worker_reader.h"
#include "os/block/request_limits.h"

namespace blksweep {
namespace {

// Waits on the counters and sleeps of the stages do not end by a signal; this thread turns the flag
// into their stop. A stage that fails wakes the other one in the same way.
class StopWatch {
 public:
  StopWatch(const std::atomic<bool>& stop, Handoff& handoff, std::stop_source& stages)
      : thread_([&stop, &handoff, &stages](const std::stop_token& done) {
          const auto ends = [&] { return stop.load() || handoff.stopping(); };
          std::mutex mutex;
          std::condition_variable_any sleep;  // its owner need not wait for the end of one
          std::unique_lock lock(mutex);
          while (!done.stop_requested() && !ends()) {
            sleep.wait_for(lock, done, std::chrono::milliseconds(20), ends);
          }
          if (ends()) {
            handoff.request_stop();
            stages.request_stop();
          }
        }) {}

 private:
  std::jthread thread_;
};

std::uint64_t largest_batch_bytes(const Catalog& catalog, const Plan& plan, const Schedule& s) {
  std::uint64_t most = 0;
  for (std::size_t b = 0; b < s.batches(); ++b) {
    std::uint64_t sum = 0;
    for (std::uint32_t i = s.batch_begin[b]; i < s.batch_begin[b + 1]; ++i) {
      sum += catalog.sample(plan.order[s.emission[i]]).length;
    }
    most = std::max(most, sum);
  }
  return most;
}

// Of the device itself; the filesystem splits what it reads for a file.
RequestLimits one_request(const Source& source, const Plan& plan) {
  return reads_device(plan) ? limits_of(source.device->disk) : RequestLimits{};
}

}  // namespace

Result<> Epoch::allocate(const LoaderSettings& settings, const PlannedEpoch& planned) {
  const Bytes all = memory_of(planned);
  BLKSWEEP_CHECK(check_memory({all}, settings));
  BLKSWEEP_TRY(arena_, options_.memory ? options_.memory->take(all) : PageBuffer::allocate(all));
  keeper_.to = options_.memory;
  return {};
}

Result<> Epoch::open_engine(const Source& source, const LoaderSettings& settings,
                            const Plan& plan) {
  if (settings.engine == EngineKind::uring_iopoll) {
    if (const std::string why = poll_refusal(source); !why.empty()) {
      return unsupported(fmt::format("--engine {}: {}; or use --engine io_uring",
                                     to_string(settings.engine), why));
    }
  }
  if (settings.engine == EngineKind::hint) {
    BLKSWEEP_TRY(ahead_, PlanAhead::make(source.catalog, plan));
  }
  BLKSWEEP_TRY(
      engine_,
      make_engine(settings.engine,
                  {.depth = settings.depth,
                   .file_slots = slots_.slots,
                   .registers_files = reads_device(plan) || files_->read_often(),
                   .arena = arena_.span(),
                   .advice = settings.madvise,
                   .hint = settings.hint,
                   .hint_window = settings.hint_window.n,
                   .upcoming = ahead_.get(),
                   .one_request = one_request(source, plan),
                   .on_thread = [place = options_.place] { take_place(place, Role::openers); }}));
  return {};
}

Result<> Epoch::open_files(const Source& source, const LoaderSettings& settings, const Plan& plan) {
  // Half for the program that pulls, which opens files of its own.
  const std::uint64_t left = descriptors_left();
  const std::uint64_t others = options_.pulled ? left / 2 : options_.descriptors;
  BLKSWEEP_TRY(slots_, FileSlots::affordable(source.catalog.files.size(),
                                             left - std::min<std::uint64_t>(left, others)));
  slots_.direct = settings.direct && source.direct_possible;
  slots_.opens = settings.engine != EngineKind::no_op;
  slots_.by_handle = settings.open_by == OpenBy::handle;
  slots_.openers = settings.openers;
  slots_.place = options_.place;
  BLKSWEEP_TRY(files_, FileSlots::open(source.catalog, plan, slots_));
  BLKSWEEP_CHECK(open_engine(source, settings, plan));
  return reads_device(plan) ? files_->use_device(*engine_, source.device->node) : Result<>();
}

// Without a stage that was refused the run is none, but the sweep it belongs to goes on.
template <class Made>
Made Epoch::made(Result<Made> stage) {
  if (!stage) {
    refused_ = refused_ ? refused_ : stage.error();
    return nullptr;
  }
  return *std::move(stage);
}

// The copy stage then gets decoded parts, which lie in the ring.
Result<> Epoch::make_decode(const Source& source, const PlannedEpoch& planned,
                            StageRequest& request) {
  const bool spins = request.settings.decode_cpu.count() > 0;
  BLKSWEEP_TRY(decoded_bytes_,
               spins ? stored_by_emission(source.catalog, planned.plan, planned.schedule)
                     : decoded_by_emission(source.catalog, planned.plan, planned.schedule));
  request.batch_bytes = largest_decoded_batch(decoded_bytes_, planned.schedule);
  const DecodeSettings settings{
      .threads = request.settings.decode_threads,
      .slots = decode_slots(request.settings),
      .slot_bytes = spins ? Bytes{0} : request.batch_bytes,
      .batches = static_cast<std::uint32_t>(planned.schedule.batches()),
      .spin = request.settings.decode_cpu,
      .on_start = [place = options_.place] { take_place(place, Role::copy); }};
  BLKSWEEP_CHECK(
      check_memory({{arena_.size()}, {settings.slots * settings.slot_bytes.n}}, request.settings));
  BLKSWEEP_TRY(decode_, DecodeStage::make(settings));
  request.arena = spins ? request.arena : decode_->ring();
  return {};
}

Result<> Epoch::make_stages(const Source& source, const LoaderSettings& settings,
                            const PlannedEpoch& planned) {
  const bool copies = settings.copy != CopyKind::none;  // else nobody asks
  StageRequest request{
      .settings = settings,
      .batch_bytes = {copies ? largest_batch_bytes(source.catalog, planned.plan, planned.schedule)
                             : 0},
      .batch_parts = planned.schedule.largest_batch(),
      .arena = arena_.span(),
      .stop = stages_stop_.get_token()};
  consumer_ = made(options_.makers.consumer(request));
  if (settings.decode_threads > 0) {
    BLKSWEEP_CHECK(make_decode(source, planned, request));
  }
  copy_ = made(options_.makers.copy(request));
  return {};
}

Result<> Epoch::make_reader(const Source& source, const LoaderSettings& settings,
                            const PlannedEpoch& planned) {
  BLKSWEEP_TRY(Scatter scatter, Scatter::make(planned.plan, planned.schedule, arena_.span(),
                                              {settings.depth, planned.staging}));
  scatter_ = std::make_unique<Scatter>(std::move(scatter));
  const ReaderInputs in{.catalog = source.catalog,
                        .plan = planned.plan,
                        .schedule = planned.schedule,
                        .engine = *engine_,
                        .files = *files_,
                        .scatter = *scatter_,
                        .handoff = handoff_,
                        .depth = settings.depth,
                        .refill = refill_of(settings),
                        .align = std::max(1U, planned.align),
                        .backwards = settings.submit == SubmitOrder::reverse,
                        .on_ready = [this] { delivery_->on_ready(); }};
  reader_ = std::make_unique<Reader>(in);
  return {};
}

Result<> Epoch::make_workers(const Source& source, const LoaderSettings& settings,
                             const PlannedEpoch& planned) {
  BLKSWEEP_TRY(reader_, WorkerReader::make({.catalog = source.catalog,
                                            .plan = planned.plan,
                                            .schedule = planned.schedule,
                                            .arena = arena_.span(),
                                            .handoff = handoff_,
                                            .workers = settings.workers,
                                            .slots = batch_slots_of(settings),
                                            .scope = settings.scope,
                                            .decode_cpu = settings.decode_cpu,
                                            .direct = settings.direct && source.direct_possible,
                                            .align = std::max(1U, planned.align),
                                            .place = options_.place,
                                            .on_ready = [this] { delivery_->on_ready(); }}));
  return {};
}

Result<> Epoch::connect(const Source& source, const LoaderSettings& settings,
                        const PlannedEpoch& planned) {
  BLKSWEEP_CHECK(make_stages(source, settings, planned));
  BLKSWEEP_CHECK(settings.workers > 0 ? make_workers(source, settings, planned)
                                      : make_reader(source, settings, planned));
  DeliveryInputs out{.catalog = source.catalog,
                     .plan = planned.plan,
                     .schedule = planned.schedule,
                     .arena = arena_.span(),
                     .failed = reader_->readiness().failed(),
                     .handoff = handoff_,
                     .decode = decode_.get(),
                     .decoded_bytes = decoded_bytes_,
                     .copy = copy_.get(),
                     .staging_slots = device_slots(settings),
                     .consumer = consumer_.get(),
                     .launched_ahead = launched_ahead(settings),
                     .pulled = options_.pulled,
                     .compute = settings.compute,
                     .seed = options_.seed,
                     .verify = options_.verify,
                     .spot = options_.spot,
                     .progress = options_.progress,
                     .place = options_.place};
  delivery_ = std::make_unique<Delivery>(out);
  return {};
}

Result<std::unique_ptr<Epoch>> Epoch::prepare(const Source& source, const LoaderSettings& settings,
                                              const PlannedEpoch& planned,
                                              const EpochOptions& options) {
  std::unique_ptr<Epoch> e(new Epoch());
  e->options_ = options;
  if (options.progress != nullptr) {
    options.progress->samples_total.store(planned.plan.order.size(), std::memory_order_relaxed);
  }
  BLKSWEEP_CHECK(e->allocate(settings, planned));
  if (settings.workers == 0) {
    BLKSWEEP_CHECK(e->open_files(source, settings, planned.plan));
  }
  BLKSWEEP_CHECK(e->connect(source, settings, planned));
  return e;
}

// What it costs is not the epoch's.
Result<> Epoch::warm_up() {
  if (refused_) {
    return tl::unexpected(*refused_);
  }
  BLKSWEEP_CHECK(consumer_ ? consumer_->warm_up() : Result<>());
  return copy_ ? copy_->warm_up() : Result<>();
}

Result<EpochOutcome> Epoch::run(const std::atomic<bool>& stop) {
  EpochOutcome out;
  const Result<> warm = warm_up();
  const std::int64_t cpu_before = cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
  out.begin_ns = out.end_ns = now_ns();
  if (!warm) {
    out.fault = warm.error();
    return out;
  }
  const StopWatch watch(stop, handoff_, stages_stop_);
  delivery_->start();
  if (files_) {
    files_->start();
  }
  const Result<> read = reader_->run(stop);
  if (!read || stop.load()) {
    handoff_.request_stop();
  }
  const Result<> delivered = delivery_->finish();
  out.end_ns = now_ns();
  out.cpu_ns = cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_before;
  BLKSWEEP_CHECK(read);
  out.interrupted = stop.load() && handoff_.consumed.value() < handoff_.times.size();
  const bool stopped = !delivered && delivered.error().exit_code == Exit::interrupted;
  if (!delivered && !(stopped && out.interrupted)) {
    out.fault = delivered.error();
  }
  return out;
}

}  // namespace blksweep
