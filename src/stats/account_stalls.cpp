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

// Of a stage with a ring: what others wait for while it has their batch.
Stall stall_in(EpochLane lane) { return lane == EpochLane::copy ? Stall::copy : Stall::decode; }

}  // namespace

std::optional<TimeSpan> span_of(const BatchSpans& batch, EpochLane lane) {
  switch (lane) {
    case EpochLane::read:
      return batch.read;
    case EpochLane::decode:
      return batch.decode;
    case EpochLane::copy:
      return batch.copy;
    case EpochLane::compute:
      return batch.compute;
  }
  return std::nullopt;
}

StallFinder::StallFinder(const AccountInput& input)
    : in_(input), waits_(memory_waits(input)), given_back_{input.epoch.begin} {
  for (std::size_t l = 0; l < kLanes; ++l) {
    const auto lane = static_cast<EpochLane>(l);
    busy_[l] = busy_of(input, lane);
    for (std::uint32_t b = 0; b < input.batches.size(); ++b) {
      if (span_of(input.batches[b], lane)) {
        by_begin_[l].push_back(b);
      }
    }
    std::ranges::stable_sort(
        by_begin_[l], {}, [&](std::uint32_t b) { return span_of(input.batches[b], lane)->begin; });
  }
  reading_ = {std::numeric_limits<std::int64_t>::max(), input.epoch.begin};
  for (std::uint32_t b = 0; b < input.batches.size(); ++b) {
    reading_.begin = std::min(reading_.begin, input.batches[b].read.begin);
    reading_.end = std::max(reading_.end, input.batches[b].read.end);
    by_consumed_.push_back(b);
    given_back_.push_back(std::max(given_back_.back(), input.batches[b].consumed));
  }
  std::ranges::stable_sort(by_consumed_, {},
                           [&](std::uint32_t b) { return input.batches[b].consumed; });
}

std::array<std::int64_t, kStalls> StallFinder::of(EpochLane lane) const {
  Stalls out{};
  const IntervalSet idle = subtract(IntervalSet({in_.epoch}), busy(lane));
  for (const TimeSpan& gap : idle.spans()) {
    if (lane == EpochLane::read) {
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
    const BatchSpans& b = in_.batches[*at];
    TimeSpan held = cut(blocked, b.consumed);
    add(out, Stall::window, cut(held, b.read.end).length());
    const auto stage = [&](const std::optional<TimeSpan>& span,
                           const std::optional<std::int64_t>& slot_wait, Stall inside) {
      if (span) {
        add(out, Stall::host, cut(held, slot_wait.value_or(span->begin)).length());
        add(out, Stall::staging, cut(held, span->begin).length());
        add(out, inside, cut(held, span->end).length());
      }
    };
    stage(b.decode, b.decode_wait_begin, Stall::decode);
    stage(b.copy, b.copy_wait_begin, Stall::copy);
    stage(b.compute, std::nullopt, Stall::consumer);
    add(out, Stall::host, held.length());
  }
  add(out, Stall::host, left.length());  // given back, and the reader is waking up
}

// The awaited batch changes within a gap only where one without length passes.
void StallFinder::of_gap(EpochLane lane, const TimeSpan& idle, Stalls& out) const {
  const std::vector<std::uint32_t>& order = by_begin_[static_cast<std::size_t>(lane)];
  const auto begin_of = [&](std::uint32_t b) { return span_of(in_.batches[b], lane)->begin; };
  TimeSpan left = idle;
  for (auto at = std::ranges::upper_bound(order, idle.begin, {}, begin_of);
       at != order.end() && left.length() > 0; ++at) {
    of_wait_for(in_.batches[*at], cut(left, begin_of(*at)), out);
  }
  add(out, Stall::done, left.length());
}

// `wait` ends where the lane begins the batch, so what lies behind that adds nothing.
void StallFinder::of_wait_for(const BatchSpans& batch, const TimeSpan& wait, Stalls& out) const {
  TimeSpan left = wait;
  unread(cut(left, batch.read.begin), out);
  const TimeSpan reading = cut(left, batch.read.end);
  const std::int64_t blocked = waits_.measure_in(reading);
  add(out, Stall::window, blocked);
  add(out, Stall::storage, reading.length() - blocked);
  const auto stage = [&](EpochLane lane, const std::optional<TimeSpan>& span,
                         const std::optional<std::int64_t>& slot_wait) {
    if (span) {
      behind(lane, cut(left, slot_wait.value_or(span->begin)), out);
      add(out, Stall::staging, cut(left, span->begin).length());
      add(out, stall_in(lane), cut(left, span->end).length());
    }
  };
  stage(EpochLane::decode, batch.decode, batch.decode_wait_begin);
  stage(EpochLane::copy, batch.copy, batch.copy_wait_begin);
  add(out, Stall::host, left.length());
}

// Before its first submission: others are being read, or there is no memory, or nobody submits.
void StallFinder::unread(const TimeSpan& wait, Stalls& out) const {
  TimeSpan left = wait;
  add(out, Stall::start, cut(left, reading_.begin).length());
  const std::int64_t storage = busy(EpochLane::read).measure_in(left);
  const std::int64_t window = waits_.measure_in(left);
  add(out, Stall::storage, storage);
  add(out, Stall::window, window);
  add(out, Stall::host, left.length() - storage - window);
}

void StallFinder::behind(EpochLane lane, const TimeSpan& wait, Stalls& out) const {
  const std::int64_t others = busy(lane).measure_in(wait);
  add(out, stall_in(lane), others);
  add(out, Stall::host, wait.length() - others);
}

}  // namespace blksweep
