#include "plan/schedule_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "plan/in_place.h"
#include "plan/schedule_arena.h"
#include "plan/schedule_gates.h"
#include "plan/schedule_room.h"

namespace blksweep {
namespace {

constexpr std::uint32_t kNoPlace = 0xFFFFFFFF;
constexpr std::uint32_t kNextRun = 0xFFFFFFFE;  // gets its place with the read at hand

class Places {
 public:
  Places(const Plan& plan, const ShuffleSettings& settings, const PlaceSettings& places,
         Schedule& schedule)
      : plan_(plan),
        schedule_(schedule),
        granule_(places.granule),
        needs_(batch_needs(plan, schedule, places.held)),
        users_(count_users(plan)),
        walk_(plan, settings, needs_, schedule, [this](std::uint32_t b) { leave_batch(b); }) {
    const bool shuffled = settings.shuffle != Shuffle::none;
    const std::uint64_t window = shuffled ? settings.window.n : plan.horizon_peak;
    const std::uint64_t base =
        window + room_beside_window(plan, schedule, settings, granule_, users_);
    total_ = all_parcels(plan, granule_);
    // A sixteenth for what random lifetimes splinter.
    wanted_ = std::min(align_up(base + base / 16, granule_), total_);
  }

  std::uint64_t wanted() const { return wanted_; }

  bool run() {
    schedule_.slot.assign(plan_.parcel_bytes.size(), kNoPlace);
    ArenaMap arena(everything_fits() ? 0 : static_cast<std::uint32_t>(wanted_ / granule_));
    arena_ = &arena;
    for (std::uint32_t r = 0; r < plan_.reads.size() && !too_large_; ++r) {
      walk_.before_read(r);
      place_read(r);
    }
    std::ranges::replace(schedule_.slot, kNoPlace, 0U);  // empty parcels
    const std::uint64_t used = everything_fits() ? total_ : std::uint64_t{arena.size()} * granule_;
    schedule_.arena = {used};
    return !too_large_;
  }

 private:
  bool everything_fits() const { return wanted_ == total_; }
  std::uint32_t granules(std::uint32_t parcel) const {
    return static_cast<std::uint32_t>(align_up(plan_.parcel_bytes[parcel], granule_) / granule_);
  }

  void leave_batch(std::uint32_t b) {
    for (std::uint32_t i = schedule_.batch_begin[b];
         !everything_fits() && i < schedule_.batch_begin[b + 1]; ++i) {
      leave(plan_.parcel_of(schedule_.emission[i]));
    }
  }

  void leave(std::uint32_t parcel) {
    if (!users_.empty() && --users_[parcel] > 0) {
      return;
    }
    if (const std::uint32_t n = granules(parcel); n > 0) {
      arena_->give(schedule_.slot[parcel], n);
    }
  }

  // All parcels that the read begins, side by side if there is room, so that few iovecs are needed.
  void place_read(std::uint32_t r) {
    const auto pieces =
        std::span(plan_.pieces)
            .subspan(plan_.first_piece[r], plan_.first_piece[r + 1] - plan_.first_piece[r]);
    std::uint64_t sum = 0;
    for (const Piece& p : pieces) {
      if (std::uint32_t& slot = schedule_.slot[p.parcel]; slot == kNoPlace) {
        slot = kNextRun;
        sum += granules(p.parcel);
      }
    }
    if (sum > 0) {
      place_pieces(pieces, together(sum));
    }
  }

  std::optional<std::uint32_t> together(std::uint64_t sum) {
    if (everything_fits()) {
      return static_cast<std::uint32_t>(std::exchange(bump_, bump_ + sum));
    }
    return sum <= arena_->size() ? arena_->take(static_cast<std::uint32_t>(sum)) : std::nullopt;
  }

  void place_pieces(std::span<const Piece> pieces, std::optional<std::uint32_t> run) {
    for (const Piece& p : pieces) {
      if (schedule_.slot[p.parcel] == kNextRun && !too_large_) {
        const std::uint32_t n = granules(p.parcel);
        schedule_.slot[p.parcel] = run ? std::exchange(*run, *run + n) : place_one(n);
      }
    }
  }

  std::uint32_t place_one(std::uint32_t n) {
    for (;;) {
      if (const auto place = arena_->take(n); place) {
        return *place;
      }
      if (walk_.may_consume()) {
        walk_.consume();
      } else if (!grow(n)) {
        return 0;
      }
    }
  }

  bool grow(std::uint32_t n) {
    const std::uint32_t more = std::max(n, arena_->size() / 16);
    if ((std::uint64_t{arena_->size()} + more) * granule_ > kMaxArena) {
      too_large_ = true;
      return false;
    }
    arena_->extend(more);
    return true;
  }

  const Plan& plan_;
  Schedule& schedule_;
  const std::uint32_t granule_;
  const BatchNeeds needs_;
  std::vector<std::uint32_t> users_;
  GateWalk walk_;
  ArenaMap* arena_ = nullptr;
  std::uint64_t total_ = 0;   // all parcels of all epochs
  std::uint64_t wanted_ = 0;  // bytes to begin with
  std::uint64_t bump_ = 0;    // granules given out when nothing needs to be freed
  bool too_large_ = false;
};

tl::unexpected<Error> arena_too_large() {
  return usage_error(fmt::format("the arena would exceed {}; set a smaller --window or --batch",
                                 format_bytes({kMaxArena})));
}

}  // namespace

Result<> place_parcels(const Plan& plan, const ShuffleSettings& settings,
                       const PlaceSettings& places, Schedule& schedule) {
  if (settings.shuffle == Shuffle::reservoir && place_in_place(plan, settings, places, schedule)) {
    return {};
  }
  Places simulation(plan, settings, places, schedule);
  if (simulation.wanted() > kMaxArena || !simulation.run()) {
    return arena_too_large();
  }
  const std::uint32_t units = places.granule / kSlotUnit;
  for (std::uint32_t& slot : schedule.slot) {
    slot *= units;
  }
  return {};
}

}  // namespace blksweep
