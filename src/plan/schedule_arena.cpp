#include "plan/schedule_arena.h"

#include <algorithm>
#include <bit>

namespace blksweep {

ArenaMap::ArenaMap(std::uint32_t granules) {
  first_.fill(kNone);
  extend(granules);
}

// Lengths below 8 have a class each; above, eight classes per power of two.
unsigned ArenaMap::class_of(std::uint32_t n) {
  if (n < (1U << kStepBits)) {
    return n;
  }
  const auto log = static_cast<unsigned>(std::bit_width(n)) - 1;
  const unsigned step = (n >> (log - kStepBits)) & ((1U << kStepBits) - 1);
  return ((log - kStepBits + 1) << kStepBits) + step;
}

std::uint32_t ArenaMap::next_class(unsigned from) const {
  for (unsigned word = from / 64; word < filled_.size(); ++word) {
    const std::uint64_t mask =
        word == from / 64 ? ~std::uint64_t{0} << (from % 64) : ~std::uint64_t{0};
    if (const std::uint64_t bits = filled_[word] & mask; bits != 0) {
      return first_[word * 64 + static_cast<unsigned>(std::countr_zero(bits))];
    }
  }
  return kNone;
}

// A run from a higher class always fits; of its own class a few are tried first, because an exact
// fit leaves no splinter.
std::uint32_t ArenaMap::find(std::uint32_t n) const {
  constexpr int kTries = 8;
  const unsigned own = class_of(n);
  std::uint32_t run = first_[own];
  for (int i = 0; i < kTries && run != kNone; ++i, run = runs_[run].next) {
    if (runs_[run].length >= n) {
      return run;
    }
  }
  return own + 1 < kClasses ? next_class(own + 1) : kNone;
}

std::optional<std::uint32_t> ArenaMap::take(std::uint32_t n) {
  const std::uint32_t run = find(n);
  if (run == kNone) {
    return std::nullopt;
  }
  const Run found = runs_[run];
  remove(run);
  if (found.length > n) {
    insert(found.start + n, found.length - n);
  }
  return found.start;
}

void ArenaMap::give(std::uint32_t start, std::uint32_t n) {
  std::uint32_t begin = start;
  std::uint32_t end = start + n;
  if (const std::uint32_t left = run_ending_at(start); left != kNone) {
    begin = runs_[left].start;
    remove(left);
  }
  if (const std::uint32_t right = run_starting_at(end); right != kNone) {
    end = runs_[right].end();
    remove(right);
  }
  insert(begin, end - begin);
}

void ArenaMap::extend(std::uint32_t granules) {
  const std::uint32_t old = size();
  tag_.resize(std::size_t{old} + granules, kNone);
  if (granules > 0) {
    give(old, granules);
  }
}

void ArenaMap::insert(std::uint32_t start, std::uint32_t length) {
  std::uint32_t run = unused_;
  if (run == kNone) {
    run = static_cast<std::uint32_t>(runs_.size());
    runs_.push_back({});
  } else {
    unused_ = runs_[run].next;
  }
  const unsigned c = class_of(length);
  runs_[run] = {start, length, first_[c], kNone};
  if (first_[c] != kNone) {
    runs_[first_[c]].prev = run;
  }
  first_[c] = run;
  filled_[c / 64] |= std::uint64_t{1} << (c % 64);
  tag_[start] = run;
  tag_[start + length - 1] = run;
}

void ArenaMap::remove(std::uint32_t run) {
  Run& r = runs_[run];
  const unsigned c = class_of(r.length);
  if (r.next != kNone) {
    runs_[r.next].prev = r.prev;
  }
  if (r.prev != kNone) {
    runs_[r.prev].next = r.next;
  } else {
    first_[c] = r.next;
    if (r.next == kNone) {
      filled_[c / 64] &= ~(std::uint64_t{1} << (c % 64));
    }
  }
  r.length = 0;
  r.next = unused_;
  unused_ = run;
}

std::uint32_t ArenaMap::run_starting_at(std::uint32_t granule) const {
  if (granule >= tag_.size() || tag_[granule] == kNone) {
    return kNone;
  }
  const Run& r = runs_[tag_[granule]];
  return r.length > 0 && r.start == granule ? tag_[granule] : kNone;
}

std::uint32_t ArenaMap::run_ending_at(std::uint32_t granule) const {
  if (granule == 0 || tag_[granule - 1] == kNone) {
    return kNone;
  }
  const Run& r = runs_[tag_[granule - 1]];
  return r.length > 0 && r.end() == granule ? tag_[granule - 1] : kNone;
}

}  // namespace blksweep
