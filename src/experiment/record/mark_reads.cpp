#include "experiment/record/mark_reads.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include "experiment/proof/map_proof.h"

namespace blksweep {
namespace {

// Parcel -> the first batch that waits for it: with a sample that lies in it or, in place, with the
// row that it is read to. Empty: the schedule has no batches.
std::vector<std::uint32_t> first_batches(const Plan& plan, const Schedule& schedule) {
  std::vector<std::uint32_t> first;
  if (schedule.emission.size() != plan.order.size()) {
    return first;
  }
  first.assign(plan.parcel_bytes.size(), std::numeric_limits<std::uint32_t>::max());
  for (std::uint32_t b = 0; b < schedule.batches(); ++b) {
    schedule.for_each_awaited(plan, b, [&](std::uint32_t position) {
      std::uint32_t& of_parcel = first[plan.parcel_of(position)];
      of_parcel = std::min(of_parcel, b);
    });
  }
  return first;
}

Maybe<std::uint32_t> first_batch(const Plan& plan, const std::vector<std::uint32_t>& of_parcel,
                                 std::uint32_t read) {
  Maybe<std::uint32_t> first;
  if (of_parcel.empty()) {
    return first;
  }
  for (std::uint32_t p = plan.first_piece[read]; p < plan.first_piece[read + 1]; ++p) {
    const std::uint32_t batch = of_parcel[plan.pieces[p].parcel];
    first = std::min(first.value_or(batch), batch);
  }
  return first;
}

bool holds(const PlannedPlace& outer, std::uint64_t begin, std::uint64_t end) {
  return outer.begin <= begin && end <= outer.end;
}

// Places of reads, of which some may lie within others: a read that bridges a gap covers samples
// that other reads deliver.
class PlaceIndex {
 public:
  // `places`: by where they begin.
  explicit PlaceIndex(std::vector<PlannedPlace> places) : places_(std::move(places)) {
    std::uint64_t reach = 0;
    for (const PlannedPlace& p : places_) {
      reach_.push_back(reach = std::max(reach, p.end));
    }
  }

  // What a request of these bytes is for: the read that it is a part of, or all those that it
  // joins.
  std::vector<PlannedPlace> of(std::uint64_t begin, std::uint64_t end) const {
    std::vector<PlannedPlace> touched = touched_by(begin, end);
    const auto closest = std::ranges::min_element(touched, {}, [&](const PlannedPlace& p) {
      return std::tuple(!holds(p, begin, end), p.begin != begin, p.end - p.begin);
    });
    if (closest != touched.end() && holds(*closest, begin, end)) {
      return {*closest};
    }
    const std::vector<PlannedPlace> all = touched;
    std::erase_if(touched, [&all](const PlannedPlace& inner) {
      return std::ranges::any_of(all, [&inner](const PlannedPlace& outer) {
        return outer.read != inner.read && holds(outer, inner.begin, inner.end) &&
               outer.end - outer.begin > inner.end - inner.begin;
      });
    });
    return touched;
  }

 private:
  std::vector<PlannedPlace> touched_by(std::uint64_t begin, std::uint64_t end) const {
    std::vector<PlannedPlace> found;
    auto at = static_cast<std::size_t>(
        std::ranges::lower_bound(places_, end, {}, &PlannedPlace::begin) - places_.begin());
    for (; at > 0 && reach_[at - 1] > begin; --at) {
      if (places_[at - 1].end > begin) {
        found.push_back(places_[at - 1]);
      }
    }
    return found;
  }

  std::vector<PlannedPlace> places_;
  std::vector<std::uint64_t> reach_;  // the farthest end of the places up to each
};

template <class T>
void keep_least(Maybe<T>& least, const Maybe<T>& one) {
  if (one) {
    least = std::min(least.value_or(*one), *one);
  }
}

}  // namespace

void mark_reads(std::vector<IssuePoint>& points, const Catalog& catalog, const Plan& plan,
                const Schedule& schedule) {
  if (plan.epochs != 1) {  // a block is in the plan more than once
    return;
  }
  const PlaceIndex places(planned_places(catalog, plan));
  const std::vector<std::uint32_t> of_parcel = first_batches(plan, schedule);
  for (IssuePoint& p : points) {
    const std::uint64_t begin = p.sector * kSectorBytes;
    for (const PlannedPlace& place : places.of(begin, begin + p.bytes)) {
      keep_least(p.read, Maybe<std::uint32_t>(place.read));
      keep_least(p.batch, first_batch(plan, of_parcel, place.read));
    }
  }
}

}  // namespace blksweep
