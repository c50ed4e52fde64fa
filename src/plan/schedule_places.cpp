#include "plan/schedule_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "plan/schedule_arena.h"

namespace blksweep {
namespace {

constexpr std::uint32_t kNoPlace = 0xFFFFFFFF;
constexpr std::uint32_t kNextRun = 0xFFFFFFFE;  // gets its place with the read at hand

// Per parcel: how many reads, counted from the first, must be complete before it is.
std::vector<std::uint32_t> reads_needed(const Plan& plan) {
  std::vector<std::uint32_t> needed(plan.parcel_bytes.size());
  for (std::uint32_t r = 0; r < plan.reads.size(); ++r) {
    for (std::uint32_t i = plan.first_piece[r]; i < plan.first_piece[r + 1]; ++i) {
      needed[plan.pieces[i].parcel] = r + 1;
    }
  }
  return needed;
}

// Per batch, how many reads must be complete before ...
struct BatchNeeds {
  std::vector<std::uint32_t> ready;  // it and all batches before it can be consumed
  std::vector<std::uint32_t> paced;  // it counts against the prefetch bound
};

// A batch counts once as many samples have been read as were emitted with it, plus those that the
// window holds: at the end of an epoch it is ready much earlier, but then the window drains.
BatchNeeds batch_needs(const Plan& plan, const Schedule& schedule,
                       std::span<const std::uint32_t> held_of) {
  const std::vector<std::uint32_t> needed = reads_needed(plan);
  const std::size_t epoch = std::max<std::size_t>(plan.order.size() / plan.epochs, 1);
  BatchNeeds out;
  std::uint32_t ready = 0;
  std::uint32_t paced = 0;
  std::size_t read = 0;
  for (std::size_t b = 0; b < schedule.batches(); ++b) {
    const std::uint32_t begin = schedule.batch_begin[b];
    const std::uint32_t end = schedule.batch_begin[b + 1];
    for (std::uint32_t i = begin; i < end; ++i) {
      ready = std::max(ready, needed[plan.parcel_of(schedule.emission[i])]);
    }
    const std::size_t held = held_of[begin / epoch];
    for (; read < std::min(end + held, plan.order.size()); ++read) {
      paced = std::max(paced, needed[plan.parcel_of(static_cast<std::uint32_t>(read))]);
    }
    out.ready.push_back(ready);
    out.paced.push_back(std::max(ready, paced));
  }
  return out;
}

// Shared parcels only: samples per parcel.
std::vector<std::uint32_t> count_users(const Plan& plan) {
  std::vector<std::uint32_t> users;
  if (!plan.parcel.empty()) {
    users.resize(plan.parcel_bytes.size());
    for (const std::uint32_t parcel : plan.parcel) {
      ++users[parcel];
    }
  }
  return users;
}

class Places {
 public:
  Places(const Plan& plan, const ShuffleSettings& settings, const PlaceSettings& places,
         Schedule& schedule)
      : plan_(plan),
        schedule_(schedule),
        granule_(places.granule),
        prefetch_(settings.prefetch),
        epochs_apart_(settings.epochs_apart),
        needs_(batch_needs(plan, schedule, places.held)),
        users_(count_users(plan)) {
    for (const std::uint32_t bytes : plan.parcel_bytes) {
      total_ += align_up(bytes, granule_);
    }
    wanted_ = std::min(wanted_bytes(settings), total_);
  }

  std::uint64_t wanted() const { return wanted_; }

  bool run() {
    schedule_.slot.assign(plan_.parcel_bytes.size(), kNoPlace);
    ArenaMap arena(everything_fits() ? 0 : static_cast<std::uint32_t>(wanted_ / granule_));
    arena_ = &arena;
    for (std::uint32_t r = 0; r < plan_.reads.size() && !too_large_; ++r) {
      begin_read(r);
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

  // Window, queue, and the batches that are ready, being copied and being consumed; a sixteenth
  // for what random lifetimes splinter. Of the queue no more than the prefetch bound lets ahead:
  // memory that nothing reads into costs its pages, and what is used again soon is in the cache.
  std::uint64_t wanted_bytes(const ShuffleSettings& settings) const {
    const bool shuffled = settings.shuffle != Shuffle::none;
    const std::uint64_t window = shuffled ? settings.window.n : plan_.horizon_peak;
    const std::uint64_t batches = (std::uint64_t{settings.prefetch} + 2) * largest_batch();
    const std::uint64_t queue = std::min(settings.in_flight.n, batches + largest_group());
    const std::uint64_t base = window + queue + batches;
    return align_up(base + base / 16, granule_);
  }

  std::uint64_t largest_batch() const {
    std::uint64_t largest = 0;
    for (std::size_t b = 0; b < schedule_.batches(); ++b) {
      std::uint64_t bytes = 0;
      for (std::uint32_t i = schedule_.batch_begin[b]; i < schedule_.batch_begin[b + 1]; ++i) {
        bytes += share(plan_.parcel_of(schedule_.emission[i]));
      }
      largest = std::max(largest, bytes);
    }
    return largest;
  }

  bool starts_group(std::size_t r) const {
    return plan_.submit_batch == 0 || r % plan_.submit_batch == 0;
  }

  // Of the reads that no gate parts.
  std::uint64_t largest_group() const {
    std::uint64_t largest = 0;
    std::uint64_t bytes = 0;
    for (std::size_t r = 0; r < plan_.reads.size(); ++r) {
      bytes = (starts_group(r) ? 0 : bytes) + plan_.reads[r].length;
      largest = std::max(largest, bytes);
    }
    return largest;
  }

  std::uint64_t share(std::uint32_t parcel) const {
    const std::uint64_t bytes = align_up(plan_.parcel_bytes[parcel], granule_);
    return users_.empty() ? bytes : (bytes + users_[parcel] - 1) / users_[parcel];
  }

  // Reads that are submitted together are never split by a gate.
  void begin_read(std::uint32_t r) {
    if (!starts_group(r)) {
      return;
    }
    gate_read_ = r;
    while (ready_ < needs_.ready.size() && needs_.ready[ready_] <= r) {
      ++ready_;
    }
    while (paced_ < needs_.paced.size() && needs_.paced[paced_] <= r) {
      ++paced_;
    }
    while (std::uint64_t{consumed_} + prefetch_ < paced_) {
      consume();
    }
    while (epochs_apart_ && consumed_ < batches_before_epoch(r)) {
      consume();
    }
  }

  // Batches of the epochs that are read completely before read r.
  std::uint32_t batches_before_epoch(std::uint32_t r) {
    const std::size_t of_epoch = schedule_.batches() / plan_.epochs;
    while (ended_ + of_epoch <= needs_.ready.size() && needs_.ready[ended_ + of_epoch - 1] <= r) {
      ended_ += of_epoch;
    }
    return static_cast<std::uint32_t>(ended_);
  }

  void consume() {
    const std::uint32_t b = consumed_++;
    if (!everything_fits()) {
      for (std::uint32_t i = schedule_.batch_begin[b]; i < schedule_.batch_begin[b + 1]; ++i) {
        leave(plan_.parcel_of(schedule_.emission[i]));
      }
    }
    if (!schedule_.gates.empty() && schedule_.gates.back().read == gate_read_) {
      schedule_.gates.back().consumed_batches = consumed_;
    } else {
      schedule_.gates.push_back({gate_read_, consumed_});
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
      if (consumed_ < ready_) {
        consume();
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
  const std::uint32_t prefetch_;
  const bool epochs_apart_;
  const BatchNeeds needs_;
  std::vector<std::uint32_t> users_;
  ArenaMap* arena_ = nullptr;
  std::uint64_t total_ = 0;   // all parcels of all epochs
  std::uint64_t wanted_ = 0;  // bytes to begin with
  std::uint64_t bump_ = 0;    // granules given out when nothing needs to be freed
  std::uint32_t ready_ = 0;   // batches whose reads all come before gate_read_
  std::uint32_t paced_ = 0;   // of these, the ones that count against the prefetch bound
  std::uint32_t consumed_ = 0;
  std::size_t ended_ = 0;  // batches of epochs whose reads all come before gate_read_
  std::uint32_t gate_read_ = 0;
  bool too_large_ = false;
};

tl::unexpected<Error> arena_too_large() {
  return usage_error(fmt::format("the arena would exceed {}; set a smaller --window or --batch",
                                 format_bytes({kMaxArena})));
}

}  // namespace

Result<> place_parcels(const Plan& plan, const ShuffleSettings& settings,
                       const PlaceSettings& places, Schedule& schedule) {
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
