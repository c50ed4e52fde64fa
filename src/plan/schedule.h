// Schedule: in which order samples are emitted, and where each parcel lives until then.
//
// Emission is drawn by position and seed, never by completion time, so it is reproducible. Because
// it is known beforehand, memory is planned beforehand too: every parcel has a fixed place in one
// arena, and a read needs no allocator at run time, only a gate: "may be submitted once this many
// batches are consumed". Both sides of the pipeline then meet on two counters.
//
// Units:    arena offsets are in units of kSlotUnit bytes. A batch is `batch` consecutive
//           emissions, the last of an epoch may be smaller; a batch never spans epochs.
// Shuffle:  none emits in position order. buffer: the window fills, then each arrival replaces a
//           random resident, which is emitted; with a drain so many bytes of random residents leave
//           before more is read. reservoir: one-pass reservoir sampling (Vitter,
//           "Random sampling with a reservoir", ACM TOMS 11(1), 1985, Algorithm R): arrival t
//           replaces a random resident with probability k/t, else is emitted itself; the residents
//           at the end, a uniform sample of the epoch, are emitted last in random order. full: a
//           permutation decided beforehand.
// In place: the samples of a reservoir that are small and read many at once are delivered from
//           where they were read; a resident is exchanged into the row of the arrival that takes
//           its place (plan/in_place.h). `slot` is then where a parcel is read to, and a parcel's
//           memory its own until it is emitted only in so far as exchanges are made in time.
// Slots:    with ShuffleSettings::slots batches are consecutive positions, and each lies in a slot
//           of its own (plan/batch_slots.h).
// Window:   what reads go ahead of the order inside a horizon (plan.h) is taken from it, and counts
//           in window_peak; without a shuffle that is all there is, and `window` means nothing.
// Errors:   a window that cannot hold the largest sample, or full with a window smaller than the
//           epoch, is a usage error that names both sizes.
// Property: every position is emitted exactly once; parcels whose lifetimes overlap do not overlap
//           in the arena; no gate waits for a batch that needs a later read (no deadlock).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "plan/plan.h"
#include "plan/settings.h"

namespace blksweep {

inline constexpr std::uint32_t kSlotUnit = 512;
// Places are units of 512 bytes at least, counted in 32 bits.
inline constexpr std::uint64_t kMaxArena = std::uint64_t{0xFFFFFFFE} * kSlotUnit;

// Samples of more bytes than this are not worth a copy.
inline constexpr std::uint32_t kSmallPiece = 8192;

// Reads from `read` on wait until `consumed_batches` batches are consumed.
struct Gate {
  std::uint32_t read;
  std::uint32_t consumed_batches;
};

// What lies at the two places change places, before the batch of the emission is delivered.
struct Exchange {
  std::uint32_t emission;
  std::uint32_t place, other;  // arena offset / kSlotUnit
};

struct InPlace {
  // Samples in the window: emission i of an epoch lies where position i + held was read to, the
  // last ones where the first positions were. 0: nothing is in place.
  std::uint32_t held = 0;
  std::vector<Exchange> exchanges;  // in the order in which they are made
};

struct Schedule {
  std::vector<std::uint32_t> emission;     // emission index -> position
  std::vector<std::uint32_t> batch_begin;  // batches + 1 entries, indices into emission
  std::vector<std::uint32_t> slot;         // parcel -> arena offset / kSlotUnit
  std::vector<Gate> gates;                 // strictly increasing in both fields
  Bytes arena{0};                          // what has to be allocated
  Bytes window_peak{0};  // most sample bytes resident at once, the horizon included
  InPlace in_place;

  std::size_t batches() const { return batch_begin.size() - 1; }
  std::uint32_t largest_batch() const;  // samples

  // Where the sample of an emission lies when it is delivered: bytes of the arena.
  std::uint64_t place_of(const Plan& plan, std::uint32_t emission_index) const {
    const std::uint32_t position = emission[emission_index];
    const std::uint32_t unit =
        slot[in_place.held == 0 ? plan.parcel_of(position) : taken_from(plan, emission_index)];
    return std::uint64_t{unit} * kSlotUnit + plan.head[position];
  }
  // In place: the position that is read to the row of the emission; nullopt: it has none.
  std::optional<std::uint32_t> arrival_at(const Plan& plan, std::uint32_t emission_index) const {
    return in_place.held == 0 ? std::nullopt : arrival_in_place(plan, emission_index);
  }
  // In place: the emission that waits for the position, beside its own; nullopt: none.
  std::optional<std::uint32_t> awaited_by(const Plan& plan, std::uint32_t position) const {
    return in_place.held == 0 ? std::nullopt : std::optional(waits_in_place(plan, position));
  }
  // f(position) for all that must be read before the batch can be delivered: what it emits and, in
  // place, what arrives in its rows, and the whole window before the first emission of an epoch.
  template <class F>
  void for_each_awaited(const Plan& plan, std::size_t batch, F f) const {
    const std::uint32_t begin = batch_begin[batch];
    const std::uint32_t window = begin + first_held(plan, begin);  // no batch spans two epochs
    for (std::uint32_t p = begin; p < window; ++p) {
      f(p);
    }
    for (std::uint32_t i = begin; i < batch_begin[batch + 1]; ++i) {
      f(emission[i]);
      if (const auto arrival = arrival_at(plan, i)) {
        f(*arrival);
      }
    }
  }

 private:
  std::optional<std::uint32_t> arrival_in_place(const Plan& plan,
                                                std::uint32_t emission_index) const;
  std::uint32_t waits_in_place(const Plan& plan, std::uint32_t position) const;
  std::uint32_t taken_from(const Plan& plan, std::uint32_t emission_index) const;
  std::uint32_t first_held(const Plan& plan, std::uint32_t emission_index) const;
};

Result<Schedule> make_schedule(const Catalog& catalog, const Plan& plan,
                               const ShuffleSettings& settings);
// The emission of that schedule, without the places: emission index -> position.
Result<std::vector<std::uint32_t>> draw_order(const Plan& plan, const ShuffleSettings& settings);
// Of an emission that was drawn elsewhere (emission index -> position): nothing is shuffled, and
// the window is that of the settings.
Result<Schedule> schedule_emission(const Plan& plan, const ShuffleSettings& settings,
                                   std::vector<std::uint32_t> emission);

}  // namespace blksweep
