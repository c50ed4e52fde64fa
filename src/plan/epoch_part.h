// EpochPart: what one of several readers delivers of an epoch, or what is left of one.
//
// The whole epoch is planned and its emission drawn first, so that all readers agree on it without
// a word; each then takes its samples, in the order of the whole. A part needs no more of the
// window than the whole: at any moment it holds a subset of it.
//
// Sharing:  of the emissions from `first` on, every ranks-th, from the rank-th on. When all ranks
//           have delivered k samples each, the first `first + k * ranks` of the epoch are through,
//           whatever the number of ranks: what is left can be shared out anew.
// Windows:  own_window, it is the order of reading that is shared out so, and each rank shuffles
//           what it has of it by itself, with a window and randomness of its own. Emissions are
//           joined as the ranks take turns: first of each rank, second of each, and so on; one that
//           has no more is passed over. With equal shares k samples of each are the first k *
//           ranks.
// Files:    by_file, a rank has the samples of whole files: of those that follow each other by
//           path, cut where a rank has its share of the bytes, so that a large file is never
//           divided.
// Property: the parts of all ranks are disjoint, and together the emissions from `first` on.
// Threads:  pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/plan.h"
#include "plan/settings.h"
#include "plan/shuffle_emission.h"

namespace blksweep {

struct PartOrder {
  std::vector<std::uint32_t> order;     // position in the part -> sample
  std::vector<std::uint32_t> emission;  // emission index of the part -> position in the part
  std::vector<std::uint32_t> places;    // emission index of the part -> of the whole
};

// Of every epoch of the plan; `emission` as Schedule has it.
PartOrder take_part(const Catalog& catalog, const Plan& plan,
                    std::span<const std::uint32_t> emission, const EpochPart& part);

// own_window: position in the rank's part -> position in the order of reading, of every epoch.
std::vector<std::uint32_t> positions_of_rank(const Catalog& catalog, const Plan& plan,
                                             const EpochPart& part);

struct JoinedTurns {
  std::vector<std::uint32_t> samples;  // in the order of all ranks
  std::vector<std::uint32_t> places;   // emission index of `rank` -> index there
};
// own_window: `of_rank` has each rank's samples as it emits them, equally many in every epoch.
JoinedTurns join_turns(std::span<const std::vector<std::uint32_t>> of_rank, std::uint32_t epochs,
                       std::uint32_t rank);

// Of an emission, what is at these indices (in order), as take_part().
PartOrder take_indices(const Plan& plan, std::span<const std::uint32_t> emission,
                       std::vector<std::uint32_t> indices);

// file -> the rank that has its samples, where parts are by file.
std::vector<std::uint32_t> ranks_of_files(const Catalog& catalog, std::uint32_t ranks);

// An emission that was drawn elsewhere, with what it holds of the plan's parcels.
Emission emission_of(const Plan& plan, std::vector<std::uint32_t> positions, std::uint32_t granule);

}  // namespace blksweep
