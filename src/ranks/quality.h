// How well what all ranks emitted of the first epoch is shuffled, from 0 to 1
// (docs/measurement.md).
//
// Joined:  displacement, decorrelation and neighbours are of the one order, by place.
// Steps:   a training step takes the next batch of every rank; label_mix is of what they have
//          together, rank_label_mix of each rank's batch by itself. Both against a full permutation
//          of the whole epoch: a rank that only ever sees some of the labels is seen in the second.
// Unknown: as ShuffleQuality.
// Threads: pure function.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace blksweep {

struct RanksQuality {
  std::optional<double> displacement, rank_decorrelation, neighbours_broken;
  std::optional<double> label_mix, rank_label_mix;
};

struct EmittedByRanks {
  // By rank, place << 32 | sample in order of delivery; each sample of the first epoch once at
  // most.
  std::span<const std::vector<std::uint64_t>> of_rank;
  std::uint32_t samples = 0;                 // of an epoch
  std::uint32_t batch = 1;                   // of a rank
  std::span<const std::uint32_t> reference;  // sample -> where it is if nothing is drawn
  std::span<const std::uint32_t> label;      // sample -> label; empty: none
};

RanksQuality quality_of_ranks(const EmittedByRanks& emitted);

}  // namespace blksweep
