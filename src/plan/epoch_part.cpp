#include "plan/epoch_part.h"

#include <algorithm>
#include <numeric>

#include "base/units.h"

namespace blksweep {
namespace {

constexpr std::uint32_t kNotMine = 0xFFFFFFFF;

// Emission indices of the part, in order: every so many.
std::vector<std::uint32_t> places_by_turn(const Plan& plan, const EpochPart& part) {
  std::vector<std::uint32_t> places;
  const std::size_t n = plan.order.size() / std::max(1U, plan.epochs);
  for (std::size_t e = 0; e < plan.epochs; ++e) {
    for (std::size_t i = std::size_t{part.first} + part.rank; i < n; i += part.ranks) {
      places.push_back(static_cast<std::uint32_t>(e * n + i));
    }
  }
  return places;
}

// The same: those of the rank's files.
std::vector<std::uint32_t> places_by_file(const Catalog& catalog, const Plan& plan,
                                          std::span<const std::uint32_t> emission,
                                          const EpochPart& part) {
  const std::vector<std::uint32_t> rank_of = ranks_of_files(catalog, part.ranks);
  std::vector<std::uint32_t> places;
  const std::size_t n = plan.order.size() / std::max(1U, plan.epochs);
  for (std::size_t i = 0; i < emission.size(); ++i) {
    const std::uint32_t file = catalog.sample(plan.order[emission[i]]).file;
    if (i % n >= part.first && rank_of[file] == part.rank) {
      places.push_back(static_cast<std::uint32_t>(i));
    }
  }
  return places;
}

// Bytes of parcels in memory; one that samples share counts once.
class Resident {
 public:
  Resident(const Plan& plan, std::uint32_t granule) : plan_(plan), granule_(granule) {
    if (!plan.parcel.empty()) {
      waiting_.resize(plan.parcel_bytes.size());
      here_.resize(plan.parcel_bytes.size());
      for (const std::uint32_t parcel : plan.parcel) {
        ++waiting_[parcel];
      }
    }
  }
  void arrive(std::uint32_t position) {
    const std::uint32_t parcel = plan_.parcel_of(position);
    if (here_.empty() || !here_[parcel]) {
      bytes_ += size_of(parcel);
    }
    if (!here_.empty()) {
      here_[parcel] = true;
    }
  }
  void leave(std::uint32_t position) {
    const std::uint32_t parcel = plan_.parcel_of(position);
    if (waiting_.empty() || --waiting_[parcel] == 0) {
      bytes_ -= size_of(parcel);
    }
  }
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::uint64_t size_of(std::uint32_t parcel) const {
    return align_up(plan_.parcel_bytes[parcel], granule_);
  }

  const Plan& plan_;
  const std::uint32_t granule_;
  std::vector<std::uint32_t> waiting_;  // samples that have not left; empty: nothing is shared
  std::vector<bool> here_;
  std::uint64_t bytes_ = 0;
};

}  // namespace

PartOrder take_part(const Catalog& catalog, const Plan& plan,
                    std::span<const std::uint32_t> emission, const EpochPart& part) {
  return take_indices(
      plan, emission,
      part.by_file ? places_by_file(catalog, plan, emission, part) : places_by_turn(plan, part));
}

PartOrder take_indices(const Plan& plan, std::span<const std::uint32_t> emission,
                       std::vector<std::uint32_t> indices) {
  PartOrder out;
  out.places = std::move(indices);
  std::vector<std::uint32_t> place(plan.order.size(), kNotMine);
  for (const std::uint32_t i : out.places) {
    place[emission[i]] = 0;
  }
  for (std::size_t p = 0; p < place.size(); ++p) {
    if (place[p] != kNotMine) {
      place[p] = static_cast<std::uint32_t>(out.order.size());
      out.order.push_back(plan.order[p]);
    }
  }
  out.emission.reserve(out.order.size());
  for (const std::uint32_t i : out.places) {
    out.emission.push_back(place[emission[i]]);
  }
  return out;
}

std::vector<std::uint32_t> positions_of_rank(const Catalog& catalog, const Plan& plan,
                                             const EpochPart& part) {
  std::vector<std::uint32_t> read(plan.order.size());
  std::iota(read.begin(), read.end(), 0U);
  const EpochPart all{.rank = part.rank, .ranks = part.ranks, .by_file = part.by_file};
  return take_part(catalog, plan, read, all).places;
}

JoinedTurns join_turns(std::span<const std::vector<std::uint32_t>> of_rank, std::uint32_t epochs,
                       std::uint32_t rank) {
  JoinedTurns out;
  std::size_t turns = 0;
  for (const std::vector<std::uint32_t>& one : of_rank) {
    turns = std::max(turns, one.size() / epochs);
  }
  for (std::size_t e = 0; e < epochs; ++e) {
    for (std::size_t turn = 0; turn < turns; ++turn) {
      for (std::size_t r = 0; r < of_rank.size(); ++r) {
        const std::size_t share = of_rank[r].size() / epochs;
        if (turn >= share) {
          continue;
        }
        if (r == rank) {
          out.places.push_back(static_cast<std::uint32_t>(out.samples.size()));
        }
        out.samples.push_back(of_rank[r][e * share + turn]);
      }
    }
  }
  return out;
}

std::vector<std::uint32_t> ranks_of_files(const Catalog& catalog, std::uint32_t ranks) {
  // One more than its bytes: empty files are shared out, too.
  const auto add = [](std::uint64_t sum, const FileRecord& file) { return sum + file.size + 1; };
  const auto all = static_cast<double>(
      std::accumulate(catalog.files.begin(), catalog.files.end(), std::uint64_t{0}, add));
  std::vector<std::uint32_t> rank_of;
  rank_of.reserve(catalog.files.size());
  std::uint64_t before = 0;
  for (const FileRecord& file : catalog.files) {
    const std::uint64_t after = add(before, file);
    const double middle = (static_cast<double>(before) + static_cast<double>(after)) / 2;
    rank_of.push_back(std::min(ranks - 1, static_cast<std::uint32_t>(middle / all * ranks)));
    before = after;
  }
  return rank_of;
}

Emission emission_of(const Plan& plan, std::vector<std::uint32_t> positions,
                     std::uint32_t granule) {
  Emission out;
  out.held.assign(plan.epochs, 0);
  out.positions = std::move(positions);
  Resident resident(plan, granule);
  const std::size_t n = out.positions.size() / std::max(1U, plan.epochs);
  std::uint32_t arrived = 0;
  for (std::size_t i = 0; i < out.positions.size(); ++i) {
    for (; arrived <= out.positions[i]; ++arrived) {
      resident.arrive(arrived);
    }
    out.peak_bytes = std::max(out.peak_bytes, resident.bytes());
    std::uint32_t& held = out.held[i / n];
    held = std::max(held, arrived - static_cast<std::uint32_t>(i) - 1);
    resident.leave(out.positions[i]);
  }
  return out;
}

}  // namespace blksweep
