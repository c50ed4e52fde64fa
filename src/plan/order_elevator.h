// The elevator order: read near the head, from a little of everything.
//
// Samples in address order are a ring, cut from a random sample on into chunks of equally many
// samples. Chunks come to wait in random order, `lookahead` of them at once; the next one read is
// the nearest ahead of the head among those that wait, past the end of the ring at its beginning
// again (C-LOOK; Worthington, Ganger and Patt, "Scheduling algorithms for modern disk drives",
// SIGMETRICS 1994). One round of the head reads about twice as many chunks as wait, evenly spread:
// 1 is the random order of chunks, all of them address order from a random sample on.
//
// Bound:    a chunk that waited for kLongestWait * lookahead reads is the next one, wherever it is.
// Property: every decision is by number in the rotated ring, never by sample, so each sample
//           is read at each place with probability 1/n (docs/orders.md has the proof).
// Threads:  pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/rng.h"
#include "base/units.h"
#include "plan/settings.h"

namespace blksweep {

inline constexpr std::uint32_t kLongestWait = 3;

struct ElevatorRide {
  std::uint32_t per_chunk = 1;  // samples
  std::uint32_t lookahead = 1;  // chunks that wait
};

// From sizes: chunks are equal in samples, so of their bytes only the mean counts.
ElevatorRide elevator_ride(std::size_t samples, Bytes whole, const OrderSettings& settings);

// In which order chunks 0 ... chunks - 1 of the ring are read.
std::vector<std::uint32_t> ride_elevator(std::uint32_t chunks, std::uint32_t lookahead, Rng& rng);

// Appends one epoch of `ring`, samples in address order.
void append_elevator(std::span<const std::uint32_t> ring, ElevatorRide ride, Rng& rng,
                     std::vector<std::uint32_t>& out);

}  // namespace blksweep
