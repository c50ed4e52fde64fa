#include "plan/epoch_part.h"

#include <algorithm>

#include "base/units.h"

namespace blksweep {
namespace {

constexpr std::uint32_t kNotMine = 0xFFFFFFFF;

// Calls take(emission index) for the part's emissions, in order.
template <class Take>
void for_each_of(const Plan& plan, const EpochPart& part, Take take) {
  const std::size_t n = plan.order.size() / std::max(1U, plan.epochs);
  for (std::size_t e = 0; e < plan.epochs; ++e) {
    for (std::size_t i = std::size_t{part.first} + part.rank; i < n; i += part.ranks) {
      take(e * n + i);
    }
  }
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

PartOrder take_part(const Plan& plan, std::span<const std::uint32_t> emission,
                    const EpochPart& part) {
  std::vector<std::uint32_t> place(plan.order.size(), kNotMine);
  for_each_of(plan, part, [&](std::size_t i) { place[emission[i]] = 0; });
  PartOrder out;
  for (std::size_t p = 0; p < place.size(); ++p) {
    if (place[p] != kNotMine) {
      place[p] = static_cast<std::uint32_t>(out.order.size());
      out.order.push_back(plan.order[p]);
    }
  }
  out.emission.reserve(out.order.size());
  for_each_of(plan, part, [&](std::size_t i) { out.emission.push_back(place[emission[i]]); });
  return out;
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
