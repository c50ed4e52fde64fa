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

  bool busy(Stage lane, std::int64_t t) const {
    const auto at = [t](const auto& s) { return s && s->begin <= t && t < s->end; };
    const bool covered = std::ranges::any_of(in_.batches, [&](const BatchTimes& b) {
      return at(b[lane]) || (lane == Stage::copy && at(b[Stage::release]));
    });
    return covered && (lane != Stage::read || wait_at(t) == nullptr);
  }

  Stall cause(Stage lane, std::int64_t t) const {
    return lane == Stage::read ? of_reader(t) : of_awaited(lane, t);
  }

  // The first phase that is not over: where the batch is, whatever order its times have.
  static Phase phase(const BatchTimes& b, std::int64_t read_before, std::int64_t t) {
    std::vector<std::pair<Phase, std::int64_t>> ends{
        {Phase::queued, std::min(read_before, b[Stage::read]->end)},
        {Phase::device, b[Stage::read]->end}};
    Phase waits = Phase::window;
    if (b[Stage::decode]) {
      ends.emplace_back(waits, b[Stage::decode]->wait);
      ends.emplace_back(Phase::staging, b[Stage::decode]->begin);
      ends.emplace_back(Phase::decode, b[Stage::decode]->end);
      waits = Phase::decoded;
    }
    if (b[Stage::copy]) {
      ends.emplace_back(waits, b[Stage::copy]->wait);
      ends.emplace_back(Phase::staging, b[Stage::copy]->begin);
      ends.emplace_back(Phase::copy, b[Stage::copy]->end);
      waits = Phase::staged;
    }
    if (b[Stage::compute]) {
      ends.emplace_back(waits, b[Stage::compute]->begin);
      ends.emplace_back(Phase::compute, b[Stage::compute]->end);
    }
    if (gives_back(b)) {
      ends.emplace_back(Phase::release, b[Stage::release]->end);
    }
    const auto at = std::ranges::find_if(ends, [t](const auto& e) { return t < e.second; });
    return at != ends.end() ? at->first : b[Stage::copy] || b[Stage::compute] ? Phase::held : waits;
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
    return std::ranges::any_of(in_.batches, [&](auto& b) { return b[Stage::read]->begin <= t; });
  }

  Stall of_awaited(Stage lane, std::int64_t t) const {
    const BatchTimes* next = nullptr;
    for (const BatchTimes& b : in_.batches) {
      const auto& s = b[lane];
      if (s && s->begin > t && (next == nullptr || s->begin < (*next)[lane]->begin)) {
        next = &b;
      }
    }
    return next == nullptr ? Stall::done : state(*next, t);
  }

  Stall state(const BatchTimes& b, std::int64_t t) const {
    if (t < b[Stage::read]->begin) {
      return !begun(t)               ? Stall::start
             : busy(Stage::read, t)  ? Stall::storage
             : wait_at(t) != nullptr ? Stall::window
                                     : Stall::host;
    }
    if (t < b[Stage::read]->end) {
      return wait_at(t) != nullptr ? Stall::window : Stall::storage;
    }
    if (b[Stage::decode] && t < b[Stage::decode]->end) {
      return t >= b[Stage::decode]->begin  ? Stall::decode
             : b[Stage::decode]->wait <= t ? Stall::staging
             : busy(Stage::decode, t)      ? Stall::decode
                                           : Stall::host;
    }
    if (b[Stage::copy] && t < b[Stage::copy]->end) {
      return t >= b[Stage::copy]->begin  ? Stall::copy
             : b[Stage::copy]->wait <= t ? Stall::staging
             : busy(Stage::copy, t)      ? Stall::copy
                                         : Stall::host;
    }
    return Stall::host;
  }

  Stall of_reader(std::int64_t t) const {
    if (!in_.batches.empty() && !begun(t)) {
      return Stall::start;
    }
    if (std::ranges::none_of(in_.batches, [&](auto& b) { return b[Stage::read]->end > t; })) {
      return Stall::done;
    }
    const MemoryWait* wait = wait_at(t);
    const BatchTimes* holder = nullptr;
    for (std::size_t b = 0; wait != nullptr && b < wait->consumed_batches && b < in_.batches.size();
         ++b) {
      const BatchTimes& x = in_.batches[b];
      if (x.consumed > t && (holder == nullptr || x.consumed < holder->consumed)) {
        holder = &x;
      }
    }
    return holder == nullptr ? Stall::host : state_of_holder(*holder, t);
  }

  static Stall state_of_holder(const BatchTimes& b, std::int64_t t) {
    if (t < b[Stage::read]->end) {
      return Stall::window;
    }
    if (b[Stage::decode] && t < b[Stage::decode]->end) {
      return t >= b[Stage::decode]->begin  ? Stall::decode
             : b[Stage::decode]->wait <= t ? Stall::staging
                                           : Stall::host;
    }
    if (b[Stage::copy] && t < b[Stage::copy]->end) {
      return t >= b[Stage::copy]->begin  ? Stall::copy
             : b[Stage::copy]->wait <= t ? Stall::staging
                                         : Stall::host;
    }
    if (b[Stage::compute] && t < b[Stage::compute]->end) {
      return b[Stage::compute]->begin <= t ? Stall::consumer : Stall::host;
    }
    return gives_back(b) && t < b[Stage::release]->end ? Stall::copy : Stall::host;
  }
  // Before the window's memory is: afterwards it holds nobody up.
  static bool gives_back(const BatchTimes& b) {
    return b[Stage::release] && b[Stage::release]->begin < b.consumed;
  }

  const AccountInput& in_;
};

struct RandomEpoch {
  std::vector<BatchTimes> batches;
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
  e.input = {
      .epoch = {kBegin, kEnd},
      .lanes = {
          .decode = rng.below(2) == 0, .copy = rng.below(3) != 0, .compute = rng.below(3) != 0}};
  std::int64_t at = kBegin;
  for (std::uint64_t n = rng.below(7); n > 0; --n) {
    BatchTimes b;
    b[Stage::read] = without_wait(some_span(rng, at, orderly));
    at = std::max(kBegin, b[Stage::read]->end - static_cast<std::int64_t>(rng.below(8)));
    std::int64_t last = b[Stage::read]->end;
    for (const Stage stage : {Stage::decode, Stage::copy, Stage::compute}) {
      if (!e.input.lanes.has(stage)) {
        continue;
      }
      StageTimes& t = b[stage].emplace(without_wait(some_span(rng, last, orderly)));
      if (stage != Stage::compute && rng.below(2) == 0) {
        t.wait = std::min(t.begin, last + static_cast<std::int64_t>(rng.below(3)));
      }
      last = std::max(last, t.end);
    }
    if (b[Stage::copy] && rng.below(2) == 0) {
      b[Stage::release] = without_wait(some_span(rng, b[Stage::copy]->end, orderly));
    }
    b.consumed = some_time(rng, std::max(last, b[Stage::read]->begin));
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
    for (const BatchTimes& b : e.batches) {
      for (std::int64_t t = b[Stage::read]->begin; t < b.consumed; ++t) {
        ++expected[static_cast<std::size_t>(Naive::phase(b, read_before, t))];
      }
      read_before = std::max(read_before, b[Stage::read]->end);
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
