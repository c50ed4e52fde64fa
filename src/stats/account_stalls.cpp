#include "stats/account_stalls.h"

#include <algorithm>
#include <limits>

namespace blksweep {
namespace {

using Stalls = std::array<std::int64_t, kStalls>;

void add(Stalls& out, Stall cause, std::int64_t ns) { out[static_cast<std::size_t>(cause)] += ns; }

// Cuts [wait.begin, until) off the front of `wait` and returns it.
TimeSpan cut(TimeSpan& wait, std::int64_t until) {
  const TimeSpan front{wait.begin, std::clamp(until, wait.begin, wait.end)};
  wait.begin = front.end;
  return front;
}

std::int64_t end_of(const MemoryWait& wait) { return wait.span.end; }

constexpr std::size_t kBehindReading = 1;  // the first lane that is

Stall awaited(std::size_t lane) { return kLaneWords[lane].awaited; }

}  // namespace

StallFinder::StallFinder(const AccountInput& input)
    : in_(input), waits_(memory_waits(input)), given_back_{input.epoch.begin} {
  for (std::size_t l = 0; l < kLanes; ++l) {
    busy_[l] = busy_of(input, static_cast<Stage>(l));
    for (std::uint32_t b = 0; b < input.batches.size(); ++b) {
      if (input.batches[b].stages[l]) {
        by_begin_[l].push_back(b);
      }
    }
    std::ranges::stable_sort(by_begin_[l], {},
                             [&](std::uint32_t b) { return input.batches[b].stages[l]->begin; });
  }
  reading_ = {std::numeric_limits<std::int64_t>::max(), input.epoch.begin};
  for (std::uint32_t b = 0; b < input.batches.size(); ++b) {
    const TimeSpan& read = *input.batches[b][Stage::read];
    reading_ = {std::min(reading_.begin, read.begin), std::max(reading_.end, read.end)};
    by_consumed_.push_back(b);
    given_back_.push_back(std::max(given_back_.back(), input.batches[b].consumed));
  }
  std::ranges::stable_sort(by_consumed_, {},
                           [&](std::uint32_t b) { return input.batches[b].consumed; });
}

std::array<std::int64_t, kStalls> StallFinder::of(Stage lane) const {
  Stalls out{};
  const IntervalSet idle = subtract(IntervalSet({in_.epoch}), busy(lane));
  for (const TimeSpan& gap : idle.spans()) {
    if (lane == Stage::read) {
      of_read_lane(gap, out);
    } else {
      of_gap(lane, gap, out);
    }
  }
  return out;
}

void StallFinder::of_read_lane(const TimeSpan& idle, Stalls& out) const {
  TimeSpan left = idle;
  if (!in_.batches.empty()) {
    add(out, Stall::start, cut(left, reading_.begin).length());
  }
  const TimeSpan between = cut(left, reading_.end);
  add(out, Stall::done, left.length());
  const auto first = std::ranges::upper_bound(in_.read_waits, between.begin, {}, end_of);
  for (auto at = first; at != in_.read_waits.end() && at->span.begin < between.end; ++at) {
    of_memory({intersect(at->span, between), at->consumed_batches}, out);
  }
  add(out, Stall::host, between.length() - waits_.measure_in(between));
}

// Memory is given back in the order of delivery: the oldest batch that still has some decides.
void StallFinder::of_memory(const MemoryWait& wait, Stalls& out) const {
  TimeSpan left = wait.span;
  TimeSpan blocked =
      cut(left, given_back_[std::min<std::size_t>(wait.consumed_batches, in_.batches.size())]);
  auto at = std::ranges::upper_bound(by_consumed_, blocked.begin, {},
                                     [&](std::uint32_t b) { return in_.batches[b].consumed; });
  for (; at != by_consumed_.end() && blocked.length() > 0; ++at) {
    if (*at >= wait.consumed_batches) {
      continue;
    }
    const BatchTimes& b = in_.batches[*at];
    TimeSpan held = cut(blocked, b.consumed);
    add(out, Stall::window, cut(held, b[Stage::read]->end).length());
    for (std::size_t l = kBehindReading; l < kLanes; ++l) {
      if (const auto& stage = b.stages[l]) {
        add(out, Stall::host, cut(held, stage->wait).length());
        add(out, Stall::staging, cut(held, stage->begin).length());
        add(out, awaited(l), cut(held, stage->end).length());
      }
    }
    if (const auto& given_back = b[Stage::release]; given_back && given_back->begin < b.consumed) {
      add(out, Stall::copy, cut(held, given_back->end).length());
    }
    add(out, Stall::host, held.length());
  }
  add(out, Stall::host, left.length());  // given back, and the reader is waking up
}

// The awaited batch changes within a gap only where one without length passes.
void StallFinder::of_gap(Stage lane, const TimeSpan& idle, Stalls& out) const {
  const std::vector<std::uint32_t>& order = by_begin_[static_cast<std::size_t>(lane)];
  const auto begin_of = [&](std::uint32_t b) { return in_.batches[b][lane]->begin; };
  TimeSpan left = idle;
  for (auto at = std::ranges::upper_bound(order, idle.begin, {}, begin_of);
       at != order.end() && left.length() > 0; ++at) {
    of_wait_for(in_.batches[*at], cut(left, begin_of(*at)), out);
  }
  add(out, Stall::done, left.length());
}

// `wait` ends where the lane begins the batch, so what lies behind that adds nothing.
void StallFinder::of_wait_for(const BatchTimes& batch, const TimeSpan& wait, Stalls& out) const {
  TimeSpan left = wait;
  unread(cut(left, batch[Stage::read]->begin), out);
  const TimeSpan reading = cut(left, batch[Stage::read]->end);
  const std::int64_t blocked = waits_.measure_in(reading);
  add(out, Stall::window, blocked);
  add(out, Stall::storage, reading.length() - blocked);
  for (std::size_t l = kBehindReading; l < kLanes; ++l) {
    if (const auto& stage = batch.stages[l]) {
      behind(l, cut(left, stage->wait), out);
      add(out, Stall::staging, cut(left, stage->begin).length());
      add(out, awaited(l), cut(left, stage->end).length());
    }
  }
  add(out, Stall::host, left.length());
}

// Before its first submission: others are being read, or there is no memory, or nobody submits.
void StallFinder::unread(const TimeSpan& wait, Stalls& out) const {
  TimeSpan left = wait;
  add(out, Stall::start, cut(left, reading_.begin).length());
  const std::int64_t storage = busy(Stage::read).measure_in(left);
  const std::int64_t window = waits_.measure_in(left);
  add(out, Stall::storage, storage);
  add(out, Stall::window, window);
  add(out, Stall::host, left.length() - storage - window);
}

void StallFinder::behind(std::size_t lane, const TimeSpan& wait, Stalls& out) const {
  const std::int64_t others = busy_[lane].measure_in(wait);
  add(out, awaited(lane), others);
  add(out, Stall::host, wait.length() - others);
}

}  // namespace blksweep
