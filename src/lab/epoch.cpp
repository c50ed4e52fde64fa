#include "lab/epoch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <thread>

#include "base/clock.h"
#include "lab/decoded_sizes.h"
#include "os/memory_room.h"

namespace blksweep {
namespace {

constexpr std::uint64_t kMostPositions = std::uint64_t{1} << 31;  // 32-bit counters with a stop bit

// Device reads are always direct: the block device's page cache is not coherent with the files'.
// Whole files are read to the end of their last block: a read that ended at the last sector would
// leave a gap before the next file, and the block layer would merge nothing (measured: 4,437
// requests for 5,000 adjacent files of odd sizes, against 368 of even ones). Parts keep the
// device's granule.
std::uint32_t read_align(const Source& source, const CellSettings& cell) {
  const bool direct = cell.direct && source.direct_possible;
  if (!direct && cell.merge != Merge::device) {
    return 1;
  }
  const bool whole_files = source.catalog.parts.empty();
  const std::uint32_t block = std::min(source.catalog.block_bytes, kPageBytes);
  return whole_files ? std::max(source.direct_align, block) : source.direct_align;
}

Bytes parcel_bytes_per_epoch(const Plan& plan) {
  const std::uint64_t all =
      std::accumulate(plan.parcel_bytes.begin(), plan.parcel_bytes.end(), std::uint64_t{0});
  return {all / std::max(1U, plan.epochs)};
}

std::uint32_t longest_read(const Plan& plan) {
  std::uint32_t most = 0;
  for (const Read& r : plan.reads) {
    most = std::max(most, r.length);
  }
  return most;
}

// A parcel that samples share stays in the window until the last of them is emitted; where emission
// is spread over the window, parcels must be small beside it.
std::uint64_t shared_parcel(const CellSettings& cell, Bytes window) {
  const bool spread = cell.shuffle == Shuffle::buffer || cell.shuffle == Shuffle::reservoir;
  const std::uint64_t most = MergeSettings{}.share.n;
  return spread ? std::min(most, window.n / 256) : most;
}

MergeSettings merge_settings(const Source& source, const CellSettings& cell, Bytes window) {
  MergeSettings m;
  m.merge = cell.merge;
  m.gap = cell.merge_gap;
  m.max = cell.merge_max;
  m.align = read_align(source, cell);
  m.batch = std::max(1U, submit_batch_of(cell));
  m.horizon = horizon_of(cell);
  m.share = {shared_parcel(cell, window)};
  return m;
}

ShuffleSettings shuffle_settings(const CellSettings& cell, const Plan& plan, std::uint64_t seed) {
  ShuffleSettings s;
  s.shuffle = cell.shuffle;
  s.window = cell.window.of(parcel_bytes_per_epoch(plan));
  s.batch = cell.batch;
  s.prefetch = cell.prefetch;
  s.in_flight = {std::uint64_t{cell.depth} * longest_read(plan)};
  s.seed = seed;
  return s;
}

Result<> check_memory(Bytes arena) {
  const auto pages = static_cast<std::uint64_t>(::sysconf(_SC_AVPHYS_PAGES));
  const Bytes free{pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))};
  const Bytes all{static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                  static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))};
  if (arena.n > std::max(free.n, all.n / 10 * 8)) {
    return fail(
        fmt::format("the window needs {} of buffers, this node has {}: use a smaller "
                    "--window, --depth or --merge-max",
                    format_bytes(arena), format_bytes(all)));
  }
  return {};
}

// Waits on the counters and sleeps of the stages do not end by a signal; this thread turns the flag
// into their stop. A stage that fails wakes the other one in the same way.
class StopWatch {
 public:
  StopWatch(const std::atomic<bool>& stop, Handoff& handoff, std::stop_source& stages)
      : thread_([&stop, &handoff, &stages](const std::stop_token& done) {
          const auto ends = [&] { return stop.load() || handoff.stopping(); };
          while (!done.stop_requested() && !ends()) {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
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

std::uint32_t largest_batch(const Schedule& s) {
  std::uint32_t most = 0;
  for (std::size_t b = 0; b < s.batches(); ++b) {
    most = std::max(most, s.batch_begin[b + 1] - s.batch_begin[b]);
  }
  return most;
}

// Before they are taken: a catalog may speak of more data than any node can plan.
Result<std::uint64_t> affordable_segments(const Source& source, const CellSettings& cell,
                                          const MergeSettings& merge) {
  const Bytes room = memory_room().least().value_or(Bytes{~std::uint64_t{0}});
  const std::uint64_t most = room.n / kSegmentBytes / cell.epochs;
  if (const auto segments = count_segments(source.catalog, merge, most)) {
    return *segments;
  }
  return fail(
      fmt::format("the plan would have more than {} reads, {} of memory is all there is: "
                  "use a larger --merge-max, fewer --epochs or a part of the data",
                  format_count(most), format_bytes(room)));
}

}  // namespace

Result<PlannedCell> plan_cell(const Source& source, const CellSettings& cell, std::uint64_t seed) {
  const std::int64_t begin = now_ns();
  const Bytes whole = source.catalog.bytes();
  if (source.catalog.samples() > kMostPositions / cell.epochs) {
    return usage_error(fmt::format("--epochs {} of {} samples: a run has {} samples at most",
                                   cell.epochs, format_count(source.catalog.samples()),
                                   format_count(kMostPositions)));
  }
  const MergeSettings merge = merge_settings(source, cell, cell.window.of(whole));
  BLKSWEEP_TRY(const std::uint64_t segments, affordable_segments(source, cell, merge));
  const OrderSettings order{cell.order, seed, cell.chunk, cell.sort_window.of(whole), cell.epochs};
  PlannedCell planned;
  planned.plan =
      make_plan(source.catalog, make_order(source.catalog, order), cell.epochs, merge, segments);
  const ShuffleSettings shuffle = shuffle_settings(cell, planned.plan, seed);
  BLKSWEEP_TRY(planned.schedule, make_schedule(source.catalog, planned.plan, shuffle));
  planned.window = shuffle.window;
  planned.align = read_align(source, cell);
  planned.plan_ns = now_ns() - begin;
  return planned;
}

Result<> Epoch::allocate(const CellSettings& cell, const PlannedCell& planned) {
  BLKSWEEP_CHECK(check_memory(planned.schedule.arena));
  BLKSWEEP_TRY(arena_, PageBuffer::allocate(planned.schedule.arena));
  BLKSWEEP_TRY(Scatter scatter,
               Scatter::make(planned.plan, planned.schedule, arena_.span(), cell.depth));
  scatter_ = std::make_unique<Scatter>(std::move(scatter));
  return {};
}

Result<> Epoch::open_files(const Source& source, const CellSettings& cell, const Plan& plan) {
  BLKSWEEP_TRY(slots_, FileSlots::affordable(source.catalog.files.size()));
  slots_.direct = cell.direct && source.direct_possible;
  slots_.openers = cell.openers;
  slots_.binding = options_.binding;
  EngineSettings settings;
  settings.depth = cell.depth;
  settings.file_slots = slots_.slots;
  settings.arena = arena_.span();
  BLKSWEEP_TRY(engine_, make_engine(cell.engine, settings));
  BLKSWEEP_TRY(files_, FileSlots::open(source.catalog, plan, slots_));
  return reads_device(plan) ? files_->use_device(*engine_, source.device->node) : Result<>();
}

// Without a stage that was refused the run is none, but the sweep it belongs to goes on.
template <class Stage>
Stage Epoch::made(Result<Stage> stage) {
  if (!stage) {
    refused_ = refused_ ? refused_ : stage.error();
    return nullptr;
  }
  return *std::move(stage);
}

// The copy stage then gets decoded parts, which lie in the ring.
Result<> Epoch::make_decode(const Source& source, const PlannedCell& planned,
                            StageRequest& request) {
  BLKSWEEP_TRY(decoded_bytes_, decoded_by_emission(source.catalog, planned.plan, planned.schedule));
  request.batch_bytes = largest_decoded_batch(decoded_bytes_, planned.schedule);
  const DecodeSettings settings{
      .threads = request.cell.decode_threads,
      .slots = decode_slots(request.cell),
      .slot_bytes = request.batch_bytes,
      .batches = static_cast<std::uint32_t>(planned.schedule.batches()),
      .on_start = [binding = options_.binding] { take_place(binding, Role::copy); }};
  BLKSWEEP_CHECK(check_memory({arena_.size() + settings.slots * settings.slot_bytes.n}));
  BLKSWEEP_TRY(decode_, DecodeStage::make(settings));
  request.arena = decode_->ring();
  return {};
}

Result<> Epoch::make_stages(const Source& source, const CellSettings& cell,
                            const PlannedCell& planned) {
  StageRequest request{
      .cell = cell,
      .batch_bytes = {largest_batch_bytes(source.catalog, planned.plan, planned.schedule)},
      .batch_parts = largest_batch(planned.schedule),
      .arena = arena_.span(),
      .stop = stages_stop_.get_token()};
  consumer_ = made(options_.makers.consumer(request));
  if (cell.decode_threads > 0) {
    BLKSWEEP_CHECK(make_decode(source, planned, request));
  }
  copy_ = made(options_.makers.copy(request));
  return {};
}

Result<> Epoch::connect(const Source& source, const CellSettings& cell,
                        const PlannedCell& planned) {
  BLKSWEEP_CHECK(make_stages(source, cell, planned));
  ReaderInputs in{.catalog = source.catalog,
                  .plan = planned.plan,
                  .schedule = planned.schedule,
                  .engine = *engine_,
                  .files = *files_,
                  .scatter = *scatter_,
                  .handoff = handoff_,
                  .depth = cell.depth,
                  .refill = refill_of(cell),
                  .align = std::max(1U, planned.align),
                  .on_ready = [this] { delivery_->on_ready(); }};
  reader_ = std::make_unique<Reader>(in);
  DeliveryInputs out{.catalog = source.catalog,
                     .plan = planned.plan,
                     .schedule = planned.schedule,
                     .arena = arena_.span(),
                     .failed = reader_->readiness().failed(),
                     .read = reader_->readiness().times(),
                     .handoff = handoff_,
                     .decode = decode_.get(),
                     .decoded_bytes = decoded_bytes_,
                     .copy = copy_.get(),
                     .staging_slots = device_slots(cell),
                     .consumer = consumer_.get(),
                     .compute = cell.compute,
                     .seed = options_.seed,
                     .verify = options_.verify,
                     .spot = options_.spot,
                     .progress = options_.progress,
                     .binding = options_.binding};
  delivery_ = std::make_unique<Delivery>(out);
  return {};
}

Result<std::unique_ptr<Epoch>> Epoch::prepare(const Source& source, const CellSettings& cell,
                                              const PlannedCell& planned,
                                              const EpochOptions& options) {
  std::unique_ptr<Epoch> e(new Epoch());
  e->options_ = options;
  if (options.progress != nullptr) {
    options.progress->samples_total.store(planned.plan.order.size(), std::memory_order_relaxed);
  }
  BLKSWEEP_CHECK(e->allocate(cell, planned));
  BLKSWEEP_CHECK(e->open_files(source, cell, planned.plan));
  BLKSWEEP_CHECK(e->connect(source, cell, planned));
  return e;
}

Result<EpochOutcome> Epoch::run(const std::atomic<bool>& stop) {
  EpochOutcome out;
  const std::int64_t cpu_before = cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
  out.begin_ns = out.end_ns = now_ns();
  if (refused_) {
    out.fault = refused_;
    return out;
  }
  const StopWatch watch(stop, handoff_, stages_stop_);
  delivery_->start();
  files_->start();
  const Result<> read = reader_->run(stop);
  if (!read || stop.load()) {
    handoff_.request_stop();
  }
  const Result<> delivered = delivery_->finish();
  out.end_ns = now_ns();
  out.cpu_ns = cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_before;
  BLKSWEEP_CHECK(read);
  out.interrupted = stop.load() && handoff_.consumed.value() < delivery_->times().size();
  const bool stopped = !delivered && delivered.error().exit_code == Exit::interrupted;
  if (!delivered && !(stopped && out.interrupted)) {
    out.fault = delivered.error();
  }
  return out;
}

}  // namespace blksweep
