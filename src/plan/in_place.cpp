#include "plan/in_place.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "plan/schedule_gates.h"
#include "plan/schedule_room.h"

namespace blksweep {
namespace {

constexpr std::uint32_t kNowhere = 0xFFFFFFFF;
// Fewer pieces in a read than this, and most are a read of their own, which needs no copy.
constexpr std::size_t kAtOnce = 2;
// An exchange copies twice. A reservoir has 1/e of them at most, with a window of 1/e.
constexpr std::size_t kMostExchanged = 2;  // one of so many

bool pays(const Plan& plan) {
  const auto& bytes = plan.parcel_bytes;
  return plan.parcel.empty() && !bytes.empty() && bytes.front() > 0 &&
         bytes.front() <= kSmallPiece &&
         std::ranges::all_of(bytes, [&](std::uint32_t b) { return b == bytes.front(); }) &&
         plan.pieces.size() >= kAtOnce * plan.reads.size();
}

// Samples that every epoch's window holds; 0: not the same number in each, or all.
std::uint32_t held_of(const Plan& plan, std::span<const std::uint32_t> held) {
  const bool equal = std::ranges::all_of(held, [&](std::uint32_t h) { return h == held.front(); });
  return held.empty() || !equal || held.front() >= plan.of_epoch() ? 0 : held.front();
}

// Places of the window and spare ones beside it, which let the next epoch's first samples arrive
// while the last batches of this one are held. They are filled in turn, and left in the same turn.
struct WindowPlaces {
  std::uint32_t held, spare;

  std::uint32_t all() const { return held + spare; }
  std::uint32_t place(std::uint32_t epoch, std::uint32_t i) const {
    return static_cast<std::uint32_t>((std::uint64_t{epoch} * held + i) % all());
  }
  // Which leaving, counted over all epochs, made room for it; nullopt: the place is new.
  std::optional<std::uint32_t> left_by(std::uint32_t epoch, std::uint32_t arrival) const {
    const std::uint64_t before = std::uint64_t{epoch} * held + arrival;
    return before < all() ? std::nullopt
                          : std::optional(static_cast<std::uint32_t>(before - all()));
  }
};

// As far as the prefetch bound and the read at hand let ahead.
std::uint32_t spare_of(const Plan& plan, const Schedule& schedule, std::uint32_t prefetch) {
  std::uint32_t at_once = 0;
  for (std::size_t r = 0; r < plan.reads.size(); ++r) {
    at_once = std::max(at_once, plan.first_piece[r + 1] - plan.first_piece[r]);
  }
  const std::uint64_t ahead = std::uint64_t{prefetch} * schedule.largest_batch() + at_once;
  return plan.epochs == 1
             ? 0
             : static_cast<std::uint32_t>(std::min<std::uint64_t>(ahead, plan.order.size()));
}

// What an emission exchanges; places of the window are counted in samples here.
class ReservoirWalk {
 public:
  ReservoirWalk(const Plan& plan, const Schedule& schedule, const WindowPlaces& window)
      : emission_(schedule.emission),
        epoch_(plan.of_epoch()),
        held_(window.held),
        window_(window),
        place_of_(epoch_),
        last_place_(epoch_),
        in_place_(window.all()) {}

  // In turn. False: no reservoir drew it.
  bool add_epoch(std::uint32_t epoch) {
    fill(epoch);
    const std::uint32_t begin = epoch * epoch_;
    std::size_t settled = 0;
    for (std::uint32_t i = 0; i < epoch_ - held_; ++i) {
      if (!pass(begin + i, emission_[begin + i] - begin, held_ + i)) {
        return false;
      }
      const std::size_t due = stay_.size() * (i + 1) / (epoch_ - held_);  // spread over all
      for (; settled < due; ++settled) {
        settle(begin + i, stay_[settled]);
      }
    }
    return drains(epoch);
  }
  // Of arrivals with residents that leave.
  std::size_t passed() const { return passed_; }
  std::vector<Exchange> take() { return std::move(out_); }

 private:
  void fill(std::uint32_t epoch) {
    std::ranges::fill(place_of_, kNowhere);
    std::ranges::fill(last_place_, kNowhere);
    stay_.clear();
    for (std::uint32_t i = 0; i < held_; ++i) {
      put(i, window_.place(epoch, i));
      if (const std::uint32_t last = last_of(epoch, i); last < epoch_) {
        last_place_[last] = window_.place(epoch, i);
      }
    }
    for (std::uint32_t i = 0; i < held_; ++i) {
      if (last_place_[i] != kNowhere) {
        stay_.push_back(i);
      }
    }
  }

  // The i-th of those that leave when all have arrived.
  std::uint32_t last_of(std::uint32_t epoch, std::uint32_t i) const {
    return emission_[epoch * epoch_ + epoch_ - held_ + i] - epoch * epoch_;
  }

  void put(std::uint32_t sample, std::uint32_t place) {
    place_of_[sample] = place;
    in_place_[place] = sample;
  }

  // One arrives, and it or a resident leaves.
  bool pass(std::uint32_t index, std::uint32_t leaves, std::uint32_t arrival) {
    if (leaves == arrival) {
      return true;
    }
    const std::uint32_t place =
        leaves < epoch_ ? std::exchange(place_of_[leaves], kNowhere) : kNowhere;
    if (place == kNowhere) {
      return false;
    }
    ++passed_;
    out_.push_back({index, place, kNowhere});
    put(arrival, place);
    settle(index, arrival);
    return true;
  }

  // A resident that stays to the end takes the place that it leaves from then.
  void settle(std::uint32_t index, std::uint32_t sample) {
    const std::uint32_t to = last_place_[sample];
    const std::uint32_t from = place_of_[sample];
    if (to != kNowhere && to != from) {
      out_.push_back({index, to, from});
      put(in_place_[to], from);
      put(sample, to);
    }
  }

  bool drains(std::uint32_t epoch) const {
    for (std::uint32_t i = 0; i < held_; ++i) {
      const std::uint32_t sample = last_of(epoch, i);
      if (sample >= epoch_ || place_of_[sample] != window_.place(epoch, i)) {
        return false;
      }
    }
    return true;
  }

  const std::vector<std::uint32_t>& emission_;
  const std::uint32_t epoch_, held_;
  const WindowPlaces window_;
  std::vector<std::uint32_t> place_of_, last_place_;  // sample of the epoch -> place in the window
  std::vector<std::uint32_t> in_place_;               // place -> sample
  std::vector<std::uint32_t> stay_;                   // of the first ones, those that leave last
  std::vector<Exchange> out_;
  std::size_t passed_ = 0;
};

std::optional<std::vector<Exchange>> exchanges_of(const Plan& plan, const Schedule& schedule,
                                                  const WindowPlaces& window) {
  ReservoirWalk walk(plan, schedule, window);
  for (std::uint32_t e = 0; e < plan.epochs; ++e) {
    if (!walk.add_epoch(e)) {
      return std::nullopt;
    }
  }
  const bool few = walk.passed() * kMostExchanged <= plan.order.size();
  return few ? std::optional(walk.take()) : std::nullopt;
}

// Rows and places of the window are counted in samples; the window lies before the rows.
class Ring {
 public:
  // `rows` at least. A batch is never cut by the ring's end.
  Ring(const Plan& plan, const ShuffleSettings& settings, Schedule& schedule,
       const BatchNeeds& needs, const WindowPlaces& window, std::uint64_t rows)
      : plan_(plan),
        schedule_(schedule),
        epoch_(plan.of_epoch()),
        held_(window.held),
        window_(window),
        batch_(std::max(1U, schedule.largest_batch())),
        of_epoch_(up_to_batch(epoch_ - held_)),
        rows_(up_to_batch(rows)),
        row_of_(rows_),
        walk_(plan, settings, needs, schedule, [](std::uint32_t) {}) {}

  std::uint64_t samples() const { return window_.all() + rows_; }

  // False: some read would wait for a batch that needs a later one.
  bool place_all() {
    schedule_.slot.assign(plan_.parcel_bytes.size(), kNowhere);
    for (std::uint32_t r = 0; r < plan_.reads.size(); ++r) {
      walk_.before_read(r);
      for (std::uint32_t i = plan_.first_piece[r]; i < plan_.first_piece[r + 1]; ++i) {
        const std::uint32_t position = plan_.pieces[i].parcel;
        if (schedule_.slot[position] == kNowhere && !place(position)) {
          return false;
        }
      }
    }
    return true;
  }

 private:
  struct Row {
    std::uint64_t number = 0;    // counted on over all epochs, from 1; 0: not used yet
    std::uint32_t consumed = 0;  // batches, until it is free
  };

  std::uint64_t up_to_batch(std::uint64_t n) const { return (n + batch_ - 1) / batch_ * batch_; }

  // How many batches are consumed when this emission is.
  std::uint32_t consumed_with(std::uint32_t epoch, std::uint32_t of_epoch) const {
    const std::size_t batches = schedule_.batches() / plan_.epochs;
    return static_cast<std::uint32_t>(epoch * batches + of_epoch / batch_ + 1);
  }

  bool place(std::uint32_t position) {
    const std::uint32_t epoch = position / epoch_;
    const std::uint32_t arrival = position % epoch_;
    if (arrival >= held_) {
      return place_in_row(position, epoch, arrival - held_);
    }
    schedule_.slot[position] = window_.place(epoch, arrival);
    const auto by = window_.left_by(epoch, arrival);
    return !by || wait_for(consumed_with(*by / held_, epoch_ - held_ + *by % held_));
  }

  // Reads come in an order of their own: what arrived in this row before is what it had before.
  bool place_in_row(std::uint32_t position, std::uint32_t epoch, std::uint32_t emission) {
    const std::uint64_t number = epoch * of_epoch_ + emission;
    Row& row = row_of_[number % rows_];
    schedule_.slot[position] = static_cast<std::uint32_t>(window_.all() + number % rows_);
    const bool in_turn = row.number < number + 1;
    const std::uint32_t before =
        std::exchange(row, {number + 1, consumed_with(epoch, emission)}).consumed;
    return in_turn && wait_for(before);
  }

  bool wait_for(std::uint32_t batches) {
    while (walk_.consumed() < batches) {
      if (!walk_.may_consume()) {
        return false;
      }
      walk_.consume();
    }
    return true;
  }

  const Plan& plan_;
  Schedule& schedule_;
  const std::uint32_t epoch_, held_;
  const WindowPlaces window_;
  const std::uint64_t batch_, of_epoch_, rows_;
  std::vector<Row> row_of_;
  GateWalk walk_;
};

// From samples to units of the arena.
void scale(const Plan& plan, Schedule& schedule, std::uint32_t units) {
  for (std::uint32_t& slot : schedule.slot) {
    slot *= units;
  }
  for (Exchange& exchange : schedule.in_place.exchanges) {
    exchange.place *= units;
    exchange.other = exchange.other == kNowhere
                         ? schedule.slot[*schedule.arrival_at(plan, exchange.emission)]
                         : exchange.other * units;
  }
}

}  // namespace

bool place_in_place(const Plan& plan, const ShuffleSettings& settings, const PlaceSettings& places,
                    Schedule& schedule) {
  const std::uint32_t held = held_of(plan, places.held);
  if (held == 0 || !pays(plan)) {
    return false;
  }
  const std::uint64_t sample = align_up(plan.parcel_bytes.front(), places.granule);
  // What the prefetch bound and the reads at hand let ahead, and the batch that is consumed: more
  // rows would be colder ones.
  const std::uint64_t rows = (std::uint64_t{settings.prefetch} + 2) * schedule.largest_batch() +
                             largest_group(plan) / sample + 1;
  const WindowPlaces window{held, spare_of(plan, schedule, settings.prefetch)};
  const bool all_fit = window.all() + rows >= plan.order.size();  // nothing is used twice
  auto exchanges = all_fit ? std::nullopt : exchanges_of(plan, schedule, window);
  if (!exchanges) {
    return false;
  }
  schedule.in_place = {held, *std::move(exchanges)};
  const BatchNeeds needs = batch_needs(plan, schedule, places.held);
  Ring ring(plan, settings, schedule, needs, window, rows);
  if (ring.samples() * sample > kMaxArena || !ring.place_all()) {
    schedule.slot.clear();
    schedule.gates.clear();
    schedule.in_place = {};
    return false;
  }
  schedule.arena = {ring.samples() * sample};
  scale(plan, schedule, static_cast<std::uint32_t>(sample / kSlotUnit));
  return true;
}

}  // namespace blksweep
