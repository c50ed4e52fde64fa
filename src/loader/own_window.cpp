#include "loader/own_window.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "loader/verify.h"
#include "plan/epoch_part.h"

namespace blksweep {
namespace {

// Of one rank: what it reads, and how that leaves its window.
struct RankPart {
  Plan plan;
  ShuffleSettings shuffle;
  std::vector<std::uint32_t> emission;  // -> position of its plan
};

std::uint64_t sample_bytes(const Catalog& catalog, std::span<const std::uint32_t> samples) {
  return std::accumulate(
      samples.begin(), samples.end(), std::uint64_t{0},
      [&](std::uint64_t sum, std::uint32_t sample) { return sum + catalog.sample(sample).length; });
}

// Not of what the planned epochs happen to give the rank: an epoch is the same whichever are
// planned with it.
Bytes window_of(const OwnWindow& own, const EpochPart& part, const Plan& plan) {
  double share = 1.0 / part.ranks;
  if (part.by_file) {
    const auto mine = static_cast<double>(sample_bytes(own.catalog, plan.order)) / plan.epochs;
    share = mine / static_cast<double>(std::max(std::uint64_t{1}, own.catalog.bytes().n));
  }
  const Bytes window =
      own.window.of({static_cast<std::uint64_t>(share * static_cast<double>(own.memory.n))});
  if (own.window.percent < 100) {
    return window;
  }
  std::uint64_t all =
      window.n + plan.horizon_most;  // shares by turn differ by a sample, and samples in size
  for (const std::uint32_t bytes : plan.parcel_bytes) {
    all += align_up(bytes, kPageBytes);
  }
  return {all};
}

Result<RankPart> draw_rank(const OwnWindow& own, const Plan& whole, std::uint32_t rank) {
  EpochPart part = own.part;
  part.rank = rank;
  std::vector<std::uint32_t> order = positions_of_rank(own.catalog, whole, part);
  for (std::uint32_t& one : order) {
    one = whole.order[one];
  }
  RankPart out;
  out.plan = make_plan(own.catalog, std::move(order), whole.epochs, own.merge);
  out.shuffle = own.shuffle;
  out.shuffle.rank = rank;
  out.shuffle.window = window_of(own, part, out.plan);
  BLKSWEEP_TRY(out.emission, draw_order(out.plan, out.shuffle));
  return out;
}

// Of one epoch, what is not through yet.
Result<> schedule_rest(const OwnWindow& own, RankPart mine, PlannedEpoch& planned) {
  std::vector<std::uint32_t> left(mine.emission.size());
  std::iota(left.begin(), left.end(), 0U);
  std::erase_if(left, [&](std::uint32_t i) { return planned.places[i] < own.part.first; });
  std::vector<std::uint32_t> places;
  for (const std::uint32_t i : left) {
    places.push_back(planned.places[i]);
  }
  PartOrder rest = take_indices(mine.plan, mine.emission, std::move(left));
  planned.places = std::move(places);
  planned.plan = make_plan(own.catalog, std::move(rest.order), mine.plan.epochs, own.merge);
  BLKSWEEP_TRY(planned.schedule,
               schedule_emission(planned.plan, mine.shuffle, std::move(rest.emission)));
  return {};
}

}  // namespace

Result<> keep_own_window(const OwnWindow& own, PlannedEpoch& planned) {
  const Plan whole = std::move(planned.plan);
  std::vector<std::vector<std::uint32_t>> of_rank;
  RankPart mine;
  for (std::uint32_t rank = 0; rank < own.part.ranks; ++rank) {
    BLKSWEEP_TRY(RankPart one, draw_rank(own, whole, rank));
    std::vector<std::uint32_t>& samples = of_rank.emplace_back();
    for (const std::uint32_t position : one.emission) {
      samples.push_back(one.plan.order[position]);
    }
    if (rank == own.part.rank) {
      mine = std::move(one);
    }
  }
  JoinedTurns joined = join_turns(of_rank, whole.epochs, own.part.rank);
  planned.whole_hash = emission_hash(joined.samples);
  planned.places = std::move(joined.places);
  planned.window = mine.shuffle.window;
  if (own.part.first > 0) {
    return schedule_rest(own, std::move(mine), planned);
  }
  planned.plan = std::move(mine.plan);
  BLKSWEEP_TRY(planned.schedule, make_schedule(own.catalog, planned.plan, mine.shuffle));
  return {};
}

}  // namespace blksweep
