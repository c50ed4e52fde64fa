#include "plan/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "plan/batch_slots.h"
#include "plan/epoch_part.h"
#include "plan/schedule_places.h"
#include "plan/schedule_room.h"
#include "plan/shuffle_emission.h"

namespace blksweep {
namespace {

// Room for samples that are in memory because a horizon reads them before their turn; a full
// shuffle has them all in memory anyhow. Not what this plan's epochs took: what is left is the
// shuffle's, and an epoch leaves the window in the same order whichever others are planned with it.
std::uint64_t bytes_ahead(const Plan& plan, Shuffle shuffle) {
  return shuffle == Shuffle::full ? 0 : plan.horizon_most;
}

std::uint64_t whole_mebibytes(std::uint64_t bytes) { return (bytes + kMiB - 1) / kMiB; }

Result<> check_epoch_fits(const Plan& plan, Bytes window, std::uint32_t granule) {
  const std::uint64_t epoch = all_parcels(plan, granule) / plan.epochs;
  if (window.n >= epoch) {
    return {};
  }
  return usage_error(fmt::format(
      "--shuffle full needs the whole epoch in memory: --window {}, epoch {}; set --window to at "
      "least {}MiB or use --shuffle reservoir",
      format_bytes(window), format_bytes({epoch}), whole_mebibytes(epoch)));
}

Result<> check_window(const Plan& plan, const ShuffleSettings& settings, std::uint32_t granule) {
  if (settings.shuffle == Shuffle::none) {
    return {};
  }
  if (settings.shuffle == Shuffle::full) {
    return check_epoch_fits(plan, settings.window, granule);
  }
  std::uint64_t largest = 0;
  for (const std::uint32_t bytes : plan.parcel_bytes) {
    largest = std::max(largest, align_up(bytes, granule));
  }
  const std::uint64_t ahead = bytes_ahead(plan, settings.shuffle);
  const std::uint64_t least = largest + ahead;
  if (least > settings.window.n) {
    return usage_error(fmt::format(
        "--window {} cannot hold the largest sample ({} in memory){}; set --window to at "
        "least {}MiB",
        format_bytes(settings.window), format_bytes({largest}),
        ahead == 0 ? ""
                   : fmt::format(" and the {} that --merge-horizon lets reads go ahead",
                                 format_bytes({ahead})),
        whole_mebibytes(least)));
  }
  return {};
}

// Batches do not span epochs.
std::vector<std::uint32_t> cut_batches(const Plan& plan, std::uint32_t batch) {
  const std::size_t n = plan.of_epoch();
  const std::size_t step = std::max(batch, 1U);
  std::vector<std::uint32_t> begins;
  begins.reserve((n / step + 1) * plan.epochs + 1);
  for (std::size_t e = 0; e < plan.epochs; ++e) {
    for (std::size_t i = 0; i < n; i += step) {
      begins.push_back(static_cast<std::uint32_t>(e * n + i));
    }
  }
  begins.push_back(static_cast<std::uint32_t>(plan.order.size()));
  return begins;
}

Result<Schedule> schedule_slots(const Plan& plan, const ShuffleSettings& settings,
                                std::uint32_t granule) {
  Schedule schedule;
  schedule.emission.resize(plan.order.size());
  std::iota(schedule.emission.begin(), schedule.emission.end(), 0U);
  schedule.batch_begin = cut_batches(plan, settings.batch);
  BLKSWEEP_CHECK(place_batches(plan, {settings.slots, granule}, schedule));
  return schedule;
}

Result<Emission> drawn(const Plan& plan, const ShuffleSettings& settings, std::uint32_t granule) {
  BLKSWEEP_CHECK(check_window(plan, settings, granule));
  ShuffleSettings rest = settings;  // of the window, what is left to the shuffle
  rest.window.n -= std::min(settings.window.n, bytes_ahead(plan, settings.shuffle));
  return draw_emission(plan, rest, granule);
}

Result<Schedule> schedule_window(const Plan& plan, const ShuffleSettings& settings,
                                 std::uint32_t granule, Emission emission) {
  Schedule schedule;
  schedule.emission = std::move(emission.positions);
  const bool full = settings.shuffle == Shuffle::full;
  schedule.window_peak = {emission.peak_bytes + (full ? 0 : plan.horizon_peak)};
  schedule.batch_begin = cut_batches(plan, settings.batch);
  BLKSWEEP_CHECK(place_parcels(plan, settings, {granule, emission.held}, schedule));
  return schedule;
}

}  // namespace

std::uint32_t Schedule::largest_batch() const {
  std::uint32_t most = 0;
  for (std::size_t b = 0; b < batches(); ++b) {
    most = std::max(most, batch_begin[b + 1] - batch_begin[b]);
  }
  return most;
}

std::optional<std::uint32_t> Schedule::arrival_in_place(const Plan& plan,
                                                        std::uint32_t emission_index) const {
  const std::uint32_t epoch = plan.of_epoch();
  return emission_index % epoch + in_place.held < epoch
             ? std::optional(emission_index + in_place.held)
             : std::nullopt;
}

std::uint32_t Schedule::waits_in_place(const Plan& plan, std::uint32_t position) const {
  const std::uint32_t of_epoch = position % plan.of_epoch();
  return position - std::min(of_epoch, in_place.held);
}

// The position whose place the emission has.
std::uint32_t Schedule::taken_from(const Plan& plan, std::uint32_t emission_index) const {
  const auto arrival = arrival_in_place(plan, emission_index);
  return arrival ? *arrival : emission_index - (plan.of_epoch() - in_place.held);
}

// How many positions the window holds when the emission is the first of its epoch; else 0.
std::uint32_t Schedule::first_held(const Plan& plan, std::uint32_t emission_index) const {
  return in_place.held > 0 && emission_index % plan.of_epoch() == 0 ? in_place.held : 0;
}

Result<Schedule> make_schedule(const Catalog& /*catalog*/, const Plan& plan,
                               const ShuffleSettings& settings) {
  const std::uint32_t granule = granule_of(plan);
  if (settings.slots > 0) {
    return schedule_slots(plan, settings, granule);
  }
  BLKSWEEP_TRY(Emission emission, drawn(plan, settings, granule));
  return schedule_window(plan, settings, granule, std::move(emission));
}

Result<std::vector<std::uint32_t>> draw_order(const Plan& plan, const ShuffleSettings& settings) {
  if (settings.slots == 0) {
    BLKSWEEP_TRY(Emission emission, drawn(plan, settings, granule_of(plan)));
    return std::move(emission.positions);
  }
  std::vector<std::uint32_t> positions(plan.order.size());
  std::iota(positions.begin(), positions.end(), 0U);
  return positions;
}

Result<Schedule> schedule_emission(const Plan& plan, const ShuffleSettings& settings,
                                   std::vector<std::uint32_t> emission) {
  const std::uint32_t granule = granule_of(plan);
  if (settings.slots > 0) {
    return schedule_slots(plan, settings, granule);
  }
  return schedule_window(plan, settings, granule, emission_of(plan, std::move(emission), granule));
}

}  // namespace blksweep
