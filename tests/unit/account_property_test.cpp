// The account of random epochs against one that asks at every single nanosecond.
#include <gtest/gtest.h>

#include "base/rng.h"
#include "stats/account.h"
#include "support/pipeline_clock.h"

namespace blksweep {
namespace {

using support::PipelineClock;
using support::PipelineTimes;

class Naive {
 public:
  explicit Naive(const AccountInput& in) : in_(in) {}

  bool busy(EpochLane lane, std::int64_t t) const {
    const bool covered = std::ranges::any_of(in_.batches, [&](const BatchSpans& b) {
      const auto s = span(b, lane);
      return s && s->begin <= t && t < s->end;
    });
    return covered && (lane != EpochLane::read || wait_at(t) == nullptr);
  }

  Stall cause(EpochLane lane, std::int64_t t) const {
    return lane == EpochLane::read ? of_reader(t) : of_awaited(lane, t);
  }

  // The first phase that is not over: where the batch is, whatever order its times have.
  static Phase phase(const BatchSpans& b, std::int64_t read_before, std::int64_t t) {
    std::vector<std::pair<Phase, std::int64_t>> ends{
        {Phase::queued, std::min(read_before, b.read.end)}, {Phase::device, b.read.end}};
    Phase waits = Phase::window;
    if (b.decode) {
      ends.emplace_back(waits, b.decode_wait_begin.value_or(b.decode->begin));
      ends.emplace_back(Phase::staging, b.decode->begin);
      ends.emplace_back(Phase::decode, b.decode->end);
      waits = Phase::decoded;
    }
    if (b.copy) {
      ends.emplace_back(waits, b.copy_wait_begin.value_or(b.copy->begin));
      ends.emplace_back(Phase::staging, b.copy->begin);
      ends.emplace_back(Phase::copy, b.copy->end);
      waits = Phase::staged;
    }
    if (b.compute) {
      ends.emplace_back(waits, b.compute->begin);
      ends.emplace_back(Phase::compute, b.compute->end);
    }
    const auto at = std::ranges::find_if(ends, [t](const auto& e) { return t < e.second; });
    return at != ends.end() ? at->first : b.copy || b.compute ? Phase::held : waits;
  }

  static std::optional<TimeSpan> span(const BatchSpans& b, EpochLane lane) {
    return lane == EpochLane::read     ? b.read
           : lane == EpochLane::decode ? b.decode
           : lane == EpochLane::copy   ? b.copy
                                       : b.compute;
  }

 private:
  const MemoryWait* wait_at(std::int64_t t) const {
    for (const MemoryWait& w : in_.read_waits) {
      if (w.span.begin <= t && t < w.span.end) {
        return &w;
      }
    }
    return nullptr;
  }
  bool begun(std::int64_t t) const {
    return std::ranges::any_of(in_.batches, [&](auto& b) { return b.read.begin <= t; });
  }

  Stall of_awaited(EpochLane lane, std::int64_t t) const {
    const BatchSpans* next = nullptr;
    for (const BatchSpans& b : in_.batches) {
      const auto s = span(b, lane);
      if (s && s->begin > t && (next == nullptr || s->begin < span(*next, lane)->begin)) {
        next = &b;
      }
    }
    return next == nullptr ? Stall::done : state(*next, t);
  }

  Stall state(const BatchSpans& b, std::int64_t t) const {
    if (t < b.read.begin) {
      return !begun(t)                  ? Stall::start
             : busy(EpochLane::read, t) ? Stall::storage
             : wait_at(t) != nullptr    ? Stall::window
                                        : Stall::host;
    }
    if (t < b.read.end) {
      return wait_at(t) != nullptr ? Stall::window : Stall::storage;
    }
    if (b.decode && t < b.decode->end) {
      return t >= b.decode->begin            ? Stall::decode
             : since(b.decode_wait_begin, t) ? Stall::staging
             : busy(EpochLane::decode, t)    ? Stall::decode
                                             : Stall::host;
    }
    if (b.copy && t < b.copy->end) {
      return t >= b.copy->begin            ? Stall::copy
             : since(b.copy_wait_begin, t) ? Stall::staging
             : busy(EpochLane::copy, t)    ? Stall::copy
                                           : Stall::host;
    }
    return Stall::host;
  }

  static bool since(const std::optional<std::int64_t>& begin, std::int64_t t) {
    return begin && *begin <= t;
  }

  Stall of_reader(std::int64_t t) const {
    if (!in_.batches.empty() && !begun(t)) {
      return Stall::start;
    }
    if (std::ranges::none_of(in_.batches, [&](auto& b) { return b.read.end > t; })) {
      return Stall::done;
    }
    const MemoryWait* wait = wait_at(t);
    const BatchSpans* holder = nullptr;
    for (std::size_t b = 0; wait != nullptr && b < wait->consumed_batches && b < in_.batches.size();
         ++b) {
      const BatchSpans& x = in_.batches[b];
      if (x.consumed > t && (holder == nullptr || x.consumed < holder->consumed)) {
        holder = &x;
      }
    }
    return holder == nullptr ? Stall::host : state_of_holder(*holder, t);
  }

  static Stall state_of_holder(const BatchSpans& b, std::int64_t t) {
    if (t < b.read.end) {
      return Stall::window;
    }
    if (b.decode && t < b.decode->end) {
      return t >= b.decode->begin            ? Stall::decode
             : since(b.decode_wait_begin, t) ? Stall::staging
                                             : Stall::host;
    }
    if (b.copy && t < b.copy->end) {
      return t >= b.copy->begin            ? Stall::copy
             : since(b.copy_wait_begin, t) ? Stall::staging
                                           : Stall::host;
    }
    return b.compute && b.compute->begin <= t && t < b.compute->end ? Stall::consumer : Stall::host;
  }

  const AccountInput& in_;
};

struct RandomEpoch {
  std::vector<BatchSpans> batches;
  std::vector<MemoryWait> waits;
  AccountInput input;
};

constexpr std::int64_t kBegin = 100, kEnd = 180;

std::int64_t some_time(Rng& rng, std::int64_t from) {
  return from + static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(kEnd - from) + 1));
}

// Often as a pipeline would make it, sometimes in any order at all: only within the epoch.
TimeSpan some_span(Rng& rng, std::int64_t after, bool orderly) {
  const std::int64_t begin = orderly
                                 ? std::min(kEnd, after + static_cast<std::int64_t>(rng.below(6)))
                                 : some_time(rng, kBegin);
  const std::int64_t end = rng.below(4) == 0 ? begin : some_time(rng, begin);
  return {begin, orderly ? std::min(end, begin + 7) : end};
}

void make_random(RandomEpoch& e, std::uint64_t seed) {
  Rng rng(seed);
  const bool orderly = rng.below(3) != 0;
  e.input = {.epoch = {kBegin, kEnd},
             .decode = rng.below(2) == 0,
             .copy = rng.below(3) != 0,
             .compute = rng.below(3) != 0};
  std::int64_t at = kBegin;
  for (std::uint64_t n = rng.below(7); n > 0; --n) {
    BatchSpans b;
    b.read = some_span(rng, at, orderly);
    at = std::max(kBegin, b.read.end - static_cast<std::int64_t>(rng.below(8)));
    std::int64_t last = b.read.end;
    const auto stage = [&](bool there, std::optional<TimeSpan>& span,
                           std::optional<std::int64_t>* slot_wait) {
      if (!there) {
        return;
      }
      span = some_span(rng, last, orderly);
      if (slot_wait != nullptr && rng.below(2) == 0) {
        *slot_wait = std::min(span->begin, last + static_cast<std::int64_t>(rng.below(3)));
      }
      last = std::max(last, span->end);
    };
    stage(e.input.decode, b.decode, &b.decode_wait_begin);
    stage(e.input.copy, b.copy, &b.copy_wait_begin);
    stage(e.input.compute, b.compute, nullptr);
    b.consumed = some_time(rng, std::max(last, b.read.begin));
    e.batches.push_back(b);
  }
  for (std::int64_t t = kBegin; rng.below(3) != 0 && t < kEnd;) {
    const std::int64_t begin = some_time(rng, t);
    t = some_time(rng, begin);
    e.waits.push_back({{begin, t}, static_cast<std::uint32_t>(rng.below(e.batches.size() + 2))});
  }
  e.input.batches = e.batches;
  e.input.read_waits = e.waits;
}

TEST(Account, AgreesWithOneThatAsksAtEveryNanosecond) {
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    RandomEpoch e;
    make_random(e, seed);
    const Account a = make_account(e.input);
    ASSERT_EQ(broken_identity(a), "") << "seed " << seed;
    const Naive naive(e.input);
    std::int64_t covered = 0;
    std::vector<LaneAccount> expected;
    for (const LaneAccount& lane : a.lanes) {
      expected.push_back({.lane = lane.lane});
    }
    for (std::int64_t t = kBegin; t < kEnd; ++t) {
      bool later = false;
      for (auto x = expected.rbegin(); x != expected.rend(); ++x) {
        if (naive.busy(x->lane, t)) {
          ++x->busy;
          ++(later ? x->hidden : x->exposed);
          later = true;
        } else {
          ++x->stalls[static_cast<std::size_t>(naive.cause(x->lane, t))];
        }
      }
      covered += later ? 1 : 0;
    }
    ASSERT_EQ(a.covered, covered) << "seed " << seed;
    for (std::size_t l = 0; l < expected.size(); ++l) {
      ASSERT_EQ(a.lanes[l].busy, expected[l].busy) << "seed " << seed << " lane " << l;
      ASSERT_EQ(a.lanes[l].hidden, expected[l].hidden) << "seed " << seed << " lane " << l;
      ASSERT_EQ(a.lanes[l].stalls, expected[l].stalls) << "seed " << seed << " lane " << l;
    }
  }
}

TEST(Account, PhasesAgreeWithOneThatAsksAtEveryNanosecond) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    RandomEpoch e;
    make_random(e, seed);
    std::array<std::int64_t, kPhases> expected{};
    std::int64_t read_before = kBegin;
    for (const BatchSpans& b : e.batches) {
      for (std::int64_t t = b.read.begin; t < b.consumed; ++t) {
        ++expected[static_cast<std::size_t>(Naive::phase(b, read_before, t))];
      }
      read_before = std::max(read_before, b.read.end);
    }
    ASSERT_EQ(make_account(e.input).phases, expected) << "seed " << seed;
  }
}

TEST(Account, HoldsForPipelinesOfAnyShape) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Rng rng(seed, 1);
    PipelineTimes t;
    t.read = static_cast<std::int64_t>(rng.below(12));
    t.copy = static_cast<std::int64_t>(rng.below(12));
    t.compute = static_cast<std::int64_t>(rng.below(12));
    t.batches = rng.below(30);
    t.prefetch = rng.below(4);
    t.slots = 1 + rng.below(3);
    t.decode = rng.below(2) == 0 ? 0 : static_cast<std::int64_t>(rng.below(12));
    t.decode_slots = 1 + rng.below(4);
    const Account a = PipelineClock(t).account();
    ASSERT_EQ(broken_identity(a), "") << "seed " << seed;
    // A clock without threads: nobody ever waits for the host.
    for (const LaneAccount& lane : a.lanes) {
      ASSERT_EQ(lane.stall(Stall::host), 0) << "seed " << seed << " " << to_string(lane.lane);
      ASSERT_EQ(lane.stall(Stall::start), 0) << "seed " << seed;
    }
    ASSERT_LE(a.ideal, a.wall);
    ASSERT_LE(a.covered, a.wall);
  }
}

}  // namespace
}  // namespace blksweep
