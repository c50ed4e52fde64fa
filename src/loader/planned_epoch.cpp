#include "loader/planned_epoch.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/clock.h"
#include "loader/own_window.h"
#include "loader/scatter.h"
#include "loader/verify.h"
#include "os/memory/memory_room.h"
#include "plan/epoch_part.h"
#include "plan/schedule_room.h"

namespace blksweep {
namespace {

constexpr std::uint64_t kMostPositions = std::uint64_t{1} << 31;  // 32-bit counters with a stop bit

// As the window counts them: a buffered read of 10 bytes takes 512 of it.
Bytes parcel_bytes(const Plan& plan) { return {all_parcels(plan, granule_of(plan))}; }

std::uint32_t longest_read(const Plan& plan) {
  std::uint32_t most = 0;
  for (const Read& r : plan.reads) {
    most = std::max(most, r.length);
  }
  return most;
}

// A parcel that samples share stays in the window until the last of them is emitted; where emission
// is spread over the window, parcels must be small beside it.
std::uint64_t shared_parcel(const LoaderSettings& settings, Bytes window) {
  const bool spread = settings.shuffle == Shuffle::buffer || settings.shuffle == Shuffle::reservoir;
  const std::uint64_t most = MergeSettings{}.share.n;
  return spread ? std::min(most, window.n / 256) : most;
}

MergeSettings merge_settings(const Source& source, const LoaderSettings& settings, Bytes window) {
  MergeSettings m;
  m.merge = settings.merge;
  m.gap = settings.merge_gap;
  m.max = settings.merge_max;
  m.align = read_align(source, settings);
  m.batch = std::max(1U, submit_batch_of(settings));
  m.horizon = horizon_of(settings);
  m.share = {shared_parcel(settings, window)};
  m.whole = settings.workers > 0;
  return m;
}

// What a share of the data is a share of. Which samples share blocks depends on the order, and an
// epoch has to be the same whichever are planned with it: then that of epoch 0 stands for all.
Bytes epoch_memory(const Catalog& catalog, const OrderSettings& order, const MergeSettings& merge,
                   const Plan& plan) {
  const bool shares = merge.merge == Merge::file || merge.merge == Merge::device;
  const bool first_alone = order.epochs == 1 && order.first_epoch == 0;
  if (first_alone || catalog.parts.empty() || !shares) {
    return {parcel_bytes(plan).n / order.epochs};
  }
  OrderSettings first = order;
  first.epochs = 1;
  first.first_epoch = 0;
  return parcel_bytes(make_plan(catalog, make_order(catalog, first), 1, merge));
}

ShuffleSettings shuffle_settings(const LoaderSettings& settings, const Plan& plan, Bytes memory,
                                 std::uint64_t seed) {
  ShuffleSettings s;
  s.shuffle = settings.shuffle;
  s.window = settings.window.of(memory);
  s.drain = settings.drain.of(s.window);
  s.hold = settings.hold;
  s.epochs_apart = settings.epochs_apart;
  s.batch = settings.batch;
  s.prefetch = settings.prefetch;
  s.in_flight = {std::uint64_t{settings.depth} * longest_read(plan)};
  s.slots = batch_slots_of(settings);
  s.seed = seed;
  s.first_epoch = settings.first_epoch;
  return s;
}

std::string hash_of_emission(const Plan& plan, std::span<const std::uint32_t> emission) {
  std::vector<std::uint32_t> samples(emission.size());
  std::ranges::transform(emission, samples.begin(), [&](std::uint32_t p) { return plan.order[p]; });
  return emission_hash(samples);
}

// The samples of the part, in the order of the whole.
Result<> keep_part(const Source& source, const LoaderSettings& settings, const MergeSettings& merge,
                   const ShuffleSettings& shuffle, PlannedEpoch& planned) {
  BLKSWEEP_TRY(const std::vector<std::uint32_t> emission, draw_order(planned.plan, shuffle));
  planned.whole_hash = hash_of_emission(planned.plan, emission);
  PartOrder part = take_part(source.catalog, planned.plan, emission, settings.part);
  planned.places = std::move(part.places);
  planned.plan = make_plan(source.catalog, std::move(part.order), settings.epochs, merge);
  BLKSWEEP_TRY(planned.schedule,
               schedule_emission(planned.plan, shuffle, std::move(part.emission)));
  return {};
}

// Before they are taken: a catalog may speak of more data than any node can plan.
Result<PlanNeeds> affordable_needs(const Source& source, const LoaderSettings& settings,
                                   const MergeSettings& merge) {
  const Bytes room = memory_room().least().value_or(Bytes{~std::uint64_t{0}});
  const std::uint64_t most = room.n / kSegmentBytes / settings.epochs;
  if (const auto needs = plan_needs(source.catalog, merge, most)) {
    return *needs;
  }
  return fail(
      fmt::format("the plan would have more than {} reads, {} of memory is all there is: "
                  "use a larger --merge-max, fewer --epochs or a part of the data",
                  format_count(most), format_bytes(room)));
}

}  // namespace

// Device reads are always direct: the block device's page cache is not coherent with the files'.
// Whole files are read to the end of their last block: a read that ended at the last sector would
// leave a gap before the next file, and the block layer would merge nothing (measured: 4,437
// requests for 5,000 adjacent files of odd sizes, against 368 of even ones). Parts keep the
// device's granule.
std::uint32_t read_align(const Source& source, const LoaderSettings& settings) {
  const bool direct = settings.direct && source.direct_possible;
  if (!direct && settings.merge != Merge::device) {
    return 1;
  }
  const bool whole_files = source.catalog.parts.empty() && source.catalog.share.all();
  const std::uint32_t block = std::min(source.catalog.block_bytes, kPageBytes);
  return whole_files ? std::max(source.direct_align, block) : source.direct_align;
}

std::string order_hash(const PlannedEpoch& planned) {
  return planned.whole_hash.empty() ? hash_of_emission(planned.plan, planned.schedule.emission)
                                    : planned.whole_hash;
}

Bytes memory_of(const PlannedEpoch& planned) {
  return {planned.schedule.arena.n + planned.staging.n};
}

Result<PlannedEpoch> plan_epoch(const Source& source, const LoaderSettings& settings,
                                std::uint64_t seed) {
  const std::int64_t begin = now_ns();
  const Bytes whole = source.catalog.bytes();
  if (source.catalog.samples() > kMostPositions / settings.epochs) {
    return usage_error(fmt::format("--epochs {} of {} samples: a run has {} samples at most",
                                   settings.epochs, format_count(source.catalog.samples()),
                                   format_count(kMostPositions)));
  }
  const Bytes mixed{settings.part.own_window ? whole.n / settings.part.ranks : whole.n};
  const MergeSettings merge = merge_settings(source, settings, settings.window.of(mixed));
  BLKSWEEP_TRY(const PlanNeeds needs, affordable_needs(source, settings, merge));
  const OrderSettings order{settings.order,
                            seed,
                            settings.chunk,
                            settings.sort_window.of(whole),
                            settings.epochs,
                            settings.first_epoch,
                            lookahead_of(settings, whole)};
  PlannedEpoch planned;
  planned.plan =
      make_plan(source.catalog, make_order(source.catalog, order), settings.epochs, merge, needs);
  const Bytes memory = epoch_memory(source.catalog, order, merge, planned.plan);
  const ShuffleSettings shuffle = shuffle_settings(settings, planned.plan, memory, seed);
  planned.window = shuffle.window;
  if (settings.part.whole()) {
    BLKSWEEP_TRY(planned.schedule, make_schedule(source.catalog, planned.plan, shuffle));
  } else if (settings.part.own_window && settings.part.ranks > 1) {
    BLKSWEEP_CHECK(keep_own_window(
        {source.catalog, merge, shuffle, settings.window, memory, settings.part}, planned));
  } else {
    BLKSWEEP_CHECK(keep_part(source, settings, merge, shuffle, planned));
  }
  planned.align = read_align(source, settings);
  if (settings.workers == 0) {
    planned.staging = staging_area(planned.plan, planned.schedule, settings.depth);
  }
  planned.plan_ns = now_ns() - begin;
  return planned;
}

void set_depth(std::uint32_t depth, LoaderSettings& settings, PlannedEpoch& planned) {
  planned.staging = {planned.staging.n / settings.depth * depth};  // as much for each read
  settings.depth = depth;
}

}  // namespace blksweep
