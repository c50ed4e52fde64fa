#include "plan/shuffle_emission.h"

#include <algorithm>
#include <numeric>

#include "base/rng.h"
#include "plan/schedule_room.h"

namespace blksweep {
namespace {

constexpr std::uint64_t kShuffleStream = std::uint64_t{0x7368} << 32;  // + epoch

Rng rng_of(const ShuffleSettings& settings, std::uint32_t epoch) {
  const std::uint64_t rank = std::uint64_t{settings.rank} << 48;
  return Rng(settings.seed, kShuffleStream + rank + settings.first_epoch + epoch);
}

// The samples in memory between reading and emission.
class Window {
 public:
  Window(const Plan& plan, std::uint32_t granule, Emission& out)
      : plan_(plan), granule_(granule), out_(out) {
    if (!plan.parcel.empty()) {
      users_.resize(plan.parcel_bytes.size());
    }
  }

  bool empty() const { return residents_.empty(); }
  std::uint64_t count() const { return residents_.size(); }
  std::uint64_t most() const { return most_; }  // residents at once in this epoch
  std::uint64_t bytes() const { return bytes_; }

  // Memory that the position needs beside what is resident already.
  std::uint64_t need(std::uint32_t position) const {
    const std::uint32_t parcel = plan_.parcel_of(position);
    return !users_.empty() && users_[parcel] > 0 ? 0 : size(parcel);
  }

  // Residents are found by position from here on, those of one epoch.
  void watch(std::uint32_t begin, std::uint32_t end) {
    first_ = oldest_ = begin;
    where_.assign(end - begin, kGone);
  }

  // Those that arrived before `since`; after watch().
  void emit_older(std::uint32_t since) {
    for (; oldest_ < since; ++oldest_) {
      if (where_[oldest_ - first_] != kGone) {
        emit_at(where_[oldest_ - first_]);
      }
    }
  }

  void arrive(std::uint32_t position) {
    bytes_ += need(position);
    if (!users_.empty()) {
      ++users_[plan_.parcel_of(position)];
    }
    residents_.push_back(position);
    moved(residents_.size() - 1);
    out_.peak_bytes = std::max(out_.peak_bytes, bytes_);
    most_ = std::max(most_, count());
  }

  void emit_random(Rng& rng) { emit_at(rng.below(residents_.size())); }

  void emit_at(std::size_t index) {
    const std::uint32_t position = residents_[index];
    residents_[index] = residents_.back();
    moved(index);
    residents_.pop_back();
    if (!where_.empty()) {
      where_[position - first_] = kGone;
    }
    const std::uint32_t parcel = plan_.parcel_of(position);
    if (users_.empty() || --users_[parcel] == 0) {
      bytes_ -= size(parcel);
    }
    out_.positions.push_back(position);
  }

  void emit_all(Rng& rng) {
    most_ = 0;
    where_.clear();
    shuffle(std::span(residents_), rng);
    while (!residents_.empty()) {
      emit_at(residents_.size() - 1);
    }
  }

 private:
  static constexpr std::uint32_t kGone = ~std::uint32_t{0};

  void moved(std::size_t index) {
    if (!where_.empty()) {
      where_[residents_[index] - first_] = static_cast<std::uint32_t>(index);
    }
  }

  std::uint64_t size(std::uint32_t parcel) const {
    return align_up(plan_.parcel_bytes[parcel], granule_);
  }

  const Plan& plan_;
  const std::uint32_t granule_;
  Emission& out_;
  std::vector<std::uint32_t> residents_;
  std::vector<std::uint32_t>
      where_;  // position - first_ -> index of residents_; empty: not watched
  std::uint32_t first_ = 0, oldest_ = 0;
  std::vector<std::uint32_t> users_;  // shared parcels only: residents per parcel
  std::uint64_t bytes_ = 0;
  std::uint64_t most_ = 0;
};

struct EpochRange {
  std::uint32_t begin;
  std::uint32_t end;
};

struct Limits {
  std::uint64_t window;
  std::uint64_t drain;
  std::uint32_t hold;
};

void buffer_epoch(EpochRange epoch, Limits limits, Window& window, Rng& rng) {
  std::uint64_t longest = 0;  // arrivals that a resident sees; known once the window was full
  if (limits.hold > 0) {
    window.watch(epoch.begin, epoch.end);
  }
  const auto full = [&](std::uint32_t p) {
    return !window.empty() && window.bytes() + window.need(p) > limits.window;
  };
  for (std::uint32_t p = epoch.begin; p < epoch.end; ++p) {
    if (longest == 0 && full(p)) {
      longest = limits.hold * window.count();
    }
    if (longest > 0 && p - epoch.begin >= longest) {
      window.emit_older(static_cast<std::uint32_t>(p - longest + 1));
    }
    if (full(p)) {
      const std::uint64_t rest = limits.window - std::min(limits.drain, limits.window);
      while (full(p) || (!window.empty() && window.bytes() > rest)) {
        window.emit_random(rng);
      }
    }
    window.arrive(p);
  }
}

void reservoir_epoch(EpochRange epoch, std::uint64_t limit, Window& window, Rng& rng,
                     Emission& out) {
  std::uint32_t p = epoch.begin;
  while (p < epoch.end && window.bytes() + window.need(p) <= limit) {
    window.arrive(p++);
  }
  for (; p < epoch.end; ++p) {
    const std::uint64_t arrivals = p - epoch.begin + 1;
    const std::uint64_t chosen = rng.below(arrivals);
    if (chosen >= window.count()) {
      out.positions.push_back(p);
      continue;
    }
    window.emit_at(chosen);
    while (!window.empty() && window.bytes() + window.need(p) > limit) {
      window.emit_random(rng);
    }
    window.arrive(p);
  }
}

void full_epoch(EpochRange epoch, Rng& rng, Emission& out) {
  const auto mine = std::span(out.positions).subspan(epoch.begin, epoch.end - epoch.begin);
  std::iota(mine.begin(), mine.end(), epoch.begin);
  shuffle(mine, rng);
}

void draw_epochs(const Plan& plan, const ShuffleSettings& settings, std::uint32_t granule,
                 Emission& out) {
  const std::uint32_t n = plan.of_epoch();
  Window window(plan, granule, out);
  for (std::uint32_t e = 0; e < plan.epochs; ++e) {
    const EpochRange epoch{e * n, (e + 1) * n};
    Rng rng = rng_of(settings, e);
    if (settings.shuffle == Shuffle::buffer) {
      buffer_epoch(epoch, {settings.window.n, settings.drain.n, settings.hold}, window, rng);
    } else {
      reservoir_epoch(epoch, settings.window.n, window, rng, out);
    }
    const bool drains = settings.shuffle == Shuffle::buffer && settings.drain.n > 0;
    out.held.push_back(static_cast<std::uint32_t>(drains ? window.most() : window.count()));
    window.emit_all(rng);
  }
}

}  // namespace

Emission draw_emission(const Plan& plan, const ShuffleSettings& settings, std::uint32_t granule) {
  Emission out;
  if (settings.shuffle == Shuffle::buffer || settings.shuffle == Shuffle::reservoir) {
    out.positions.reserve(plan.order.size());
    draw_epochs(plan, settings, granule, out);
    return out;
  }
  out.positions.resize(plan.order.size());
  std::iota(out.positions.begin(), out.positions.end(), 0U);
  if (settings.shuffle == Shuffle::full) {
    const std::uint32_t n = plan.of_epoch();
    out.held.assign(plan.epochs, n);
    for (std::uint32_t e = 0; e < plan.epochs; ++e) {
      Rng rng = rng_of(settings, e);
      full_epoch({e * n, (e + 1) * n}, rng, out);
    }
    out.peak_bytes = all_parcels(plan, granule) / plan.epochs;
  } else {
    out.held.assign(plan.epochs, 0);
    for (const std::uint32_t bytes : plan.parcel_bytes) {
      out.peak_bytes = std::max(out.peak_bytes, align_up(bytes, granule));
    }
  }
  return out;
}

}  // namespace blksweep
