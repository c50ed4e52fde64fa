// The account of an epoch: who was busy when, what of it was hidden behind whom, and why each lane
// stood still, to the nanosecond. Definitions, an example and the limits: docs/account.md.
//
// Lanes:     read, decode, copy, compute, in the order in which a batch passes them; a run has
//            those that it has stages for. The one nearest to the accelerator is the last.
// Rings:     decoding and copying each put a batch into a slot of a ring, and wait for one first.
// Busy:      instants covered by at least one interval of the lane. Of the read lane: from first
//            submission to last byte of each batch, without the reader's waits for memory. Of the
//            copy lane also while memory of a batch that has arrived is given back.
// Hidden:    busy while a later lane is busy too. Exposed: the rest; of the last lane all is.
// Stalls:    instants of the epoch in which a lane is not busy; each has exactly one cause.
// Identity:  per lane hidden + exposed = busy and busy + stalls = wall; over lanes the exposed
//            times add up to the union of busy, the hidden times to the overlap, and union <=
//            wall. broken_identity() checks them on the integers.
// Units:     nanoseconds of one clock.
// Threads:   pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stats/intervals.h"

namespace blksweep {

// Why a lane is not busy: where the batch is that it waits for.
enum class Stall {
  start,     // nothing has been submitted yet
  storage,   // it is being read, or waits behind others that are
  window,    // it is not being read, because no memory has been given back
  decode,    // it is being decoded, or waits behind others that are
  staging,   // it waits for a slot of a ring, and for nothing else
  copy,      // it is being copied, or waits behind others that are
  consumer,  // (read lane) the batch that holds the memory is on the accelerator
  host,      // nobody works at it: threads wake up, bookkeeping, opening of files
  done,      // there is no such batch: the lane has had its last one
};
inline constexpr std::size_t kStalls = 9;
std::string_view to_string(Stall cause);

// Where the time of one batch goes, from its first submission until its memory is given back.
enum class Phase {
  queued,  // submitted, while an earlier batch is still being read
  device,  // being read, itself at the head
  window,  // in memory, and nobody takes it: the stages behind are busy
  decode,
  decoded,  // and nobody takes it
  staging,  // the next stage would take it, but there is no slot: before decode, before copy
  copy,
  staged,  // on the accelerator, which is busy with others
  compute,
  release,  // used, and what its copy took for it alone is being given back
  held,     // used, memory not yet given back
};
inline constexpr std::size_t kPhases = 11;
std::string_view to_string(Phase phase);

// How the account speaks of a lane: why others stand still while a batch that they wait for is in
// it, where that batch is meanwhile, and where it is between this lane and the next.
struct LaneWords {
  Stall awaited;
  Phase inside, after;
};
inline constexpr std::array<LaneWords, kLanes> kLaneWords{
    {{Stall::storage, Phase::device, Phase::window},
     {Stall::decode, Phase::decode, Phase::decoded},
     {Stall::copy, Phase::copy, Phase::staged},
     {Stall::consumer, Phase::compute, Phase::held}}};

// Lanes that a run has stages for; all of them read.
struct LaneSet {
  bool decode = false, copy = false, compute = false;
  bool has(Stage lane) const;
};

struct AccountInput {
  TimeSpan epoch;
  std::span<const BatchTimes> batches{};  // in the order of delivery, each with its read
  std::span<const MemoryWait> read_waits{};
  LaneSet lanes{};
};

struct LaneAccount {
  Stage lane = Stage::read;
  std::int64_t busy = 0, hidden = 0, exposed = 0;
  std::array<std::int64_t, kStalls> stalls{};  // by cause

  std::int64_t stall(Stall cause) const { return stalls[static_cast<std::size_t>(cause)]; }
  std::int64_t stalled() const;
};

struct Account {
  std::int64_t wall = 0;
  std::int64_t covered = 0;  // union of busy over the lanes
  std::int64_t overlap = 0;  // sum of busy - union of busy
  Stage longest = Stage::read;
  std::int64_t ideal = 0;                   // busy of the longest lane: an epoch cannot be shorter
  std::optional<std::int64_t> first_batch;  // from the epoch's begin until it could be computed
  std::vector<LaneAccount> lanes;           // that exist, in their order
  std::array<std::int64_t, kPhases> phases{};  // summed over batches
  std::int64_t batch_life = 0;                 // sum of consumed - first submission
  std::size_t misfits = 0;  // intervals that end before they begin or leave the epoch

  const LaneAccount* lane(Stage which) const;  // nullptr: the run has no such stage
  // Of the accelerator: busy / wall. Unknown without a consumer or without an epoch.
  std::optional<double> utilisation() const;
  // How close the epoch came to the ideal, 0..1. Unknown without an epoch.
  std::optional<double> ideal_share() const;
};

Account make_account(const AccountInput& input);

IntervalSet memory_waits(const AccountInput& input);
// The busy instants of a lane within the epoch.
IntervalSet busy_of(const AccountInput& input, Stage lane);

// How long a batch was in each phase; together consumed - begin of its read. `read_before`: when
// the last byte of all earlier batches was there.
std::array<std::int64_t, kPhases> phases_of(const BatchTimes& batch, std::int64_t read_before);

// What does not hold, in words; "" when everything does.
std::string broken_identity(const Account& account);

}  // namespace blksweep
