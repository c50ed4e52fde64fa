#include "plan/batch_slots.h"

#include <fmt/format.h>

#include <algorithm>

namespace blksweep {
namespace {

std::uint64_t largest_slot(const Plan& plan, const Schedule& schedule, std::uint32_t granule) {
  std::uint64_t largest = 0;
  for (std::size_t b = 0; b < schedule.batches(); ++b) {
    std::uint64_t bytes = 0;
    for (std::uint32_t p = schedule.batch_begin[b]; p < schedule.batch_begin[b + 1]; ++p) {
      bytes += align_up(plan.parcel_bytes[p], granule);
    }
    largest = std::max(largest, bytes);
  }
  return largest;
}

void add_gates(const Plan& plan, std::uint32_t slots, Schedule& schedule) {
  const std::vector<std::uint32_t> reads = reads_by_batch(plan, schedule);
  for (std::uint32_t b = slots; b < schedule.batches() && reads[b] < plan.reads.size(); ++b) {
    if (reads[b] < reads[b + 1]) {  // of empty samples there is nothing to wait for
      schedule.gates.push_back({reads[b], consumed_before(b, slots)});
    }
  }
}

}  // namespace

std::vector<std::uint32_t> reads_by_batch(const Plan& plan, const Schedule& schedule) {
  std::vector<std::uint32_t> begins(schedule.batches() + 1);
  std::uint32_t read = 0;
  for (std::size_t b = 0; b < begins.size(); ++b) {
    while (read < plan.reads.size() &&
           plan.pieces[plan.first_piece[read]].parcel < schedule.batch_begin[b]) {
      ++read;
    }
    begins[b] = read;
  }
  return begins;
}

Result<> place_batches(const Plan& plan, const BatchSlots& settings, Schedule& schedule) {
  const std::uint64_t bytes = largest_slot(plan, schedule, settings.granule);
  const auto slots = static_cast<std::uint32_t>(
      std::min<std::size_t>(settings.slots, std::max<std::size_t>(1, schedule.batches())));
  if (bytes > kMaxArena / slots) {
    return usage_error(
        fmt::format("{} batches of {} would exceed {}: set a smaller --batch or "
                    "--prefetch",
                    slots, format_bytes({bytes}), format_bytes({kMaxArena})));
  }
  schedule.arena = {bytes * slots};
  schedule.window_peak = schedule.arena;
  schedule.slot.resize(plan.parcel_bytes.size());
  for (std::size_t b = 0; b < schedule.batches(); ++b) {
    std::uint64_t at = b % slots * bytes;
    for (std::uint32_t p = schedule.batch_begin[b]; p < schedule.batch_begin[b + 1]; ++p) {
      schedule.slot[p] = static_cast<std::uint32_t>(at / kSlotUnit);
      at += align_up(plan.parcel_bytes[p], settings.granule);
    }
  }
  add_gates(plan, slots, schedule);
  return {};
}

}  // namespace blksweep
