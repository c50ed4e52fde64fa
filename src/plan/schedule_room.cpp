#include "plan/schedule_room.h"

#include <algorithm>

#include "plan/batch_slots.h"
#include "plan/schedule_gates.h"

namespace blksweep {
namespace {

// A parcel that samples share counts with a part for each.
std::uint64_t largest_batch(const Plan& plan, const Schedule& schedule, std::uint32_t granule,
                            std::span<const std::uint32_t> users) {
  std::uint64_t largest = 0;
  for (std::size_t b = 0; b < schedule.batches(); ++b) {
    std::uint64_t bytes = 0;
    for (std::uint32_t i = schedule.batch_begin[b]; i < schedule.batch_begin[b + 1]; ++i) {
      const std::uint32_t parcel = plan.parcel_of(schedule.emission[i]);
      const std::uint64_t all = align_up(plan.parcel_bytes[parcel], granule);
      bytes += users.empty() ? all : (all + users[parcel] - 1) / users[parcel];
    }
    largest = std::max(largest, bytes);
  }
  return largest;
}

}  // namespace

std::vector<std::uint32_t> count_users(const Plan& plan) {
  std::vector<std::uint32_t> users;
  if (!plan.parcel.empty()) {
    users.resize(plan.parcel_bytes.size());
    for (const std::uint32_t parcel : plan.parcel) {
      ++users[parcel];
    }
  }
  return users;
}

std::uint32_t granule_of(const Plan& plan) {
  const bool blocks = std::ranges::all_of(
      plan.parcel_bytes, [](std::uint32_t bytes) { return bytes % kPageBytes == 0; });
  return blocks ? kPageBytes : kSlotUnit;
}

std::uint64_t all_parcels(const Plan& plan, std::uint32_t granule) {
  std::uint64_t sum = 0;
  for (const std::uint32_t bytes : plan.parcel_bytes) {
    sum += align_up(bytes, granule);
  }
  return sum;
}

std::uint64_t largest_group(const Plan& plan) {
  std::uint64_t largest = 0;
  std::uint64_t bytes = 0;
  for (std::size_t r = 0; r < plan.reads.size(); ++r) {
    bytes = (starts_group(plan, r) ? 0 : bytes) + plan.reads[r].length;
    largest = std::max(largest, bytes);
  }
  return largest;
}

std::uint64_t room_beside_window(const Plan& plan, const Schedule& schedule,
                                 const ShuffleSettings& settings, std::uint32_t granule,
                                 std::span<const std::uint32_t> users) {
  const std::uint64_t batches =
      (std::uint64_t{settings.prefetch} + 2) * largest_batch(plan, schedule, granule, users);
  return std::min(settings.in_flight.n, batches + largest_group(plan)) + batches;
}

}  // namespace blksweep
