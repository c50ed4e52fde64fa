// Whose fault a late request is: slots that were free all along, and completions that nobody saw.
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "replay/replay_source.h"
#include "replay/spin.h"
#include "stats/quantile.h"

namespace {
thread_local int yields = 0;
thread_local std::function<void()> meanwhile;  // of a yield
}  // namespace

extern "C" int sched_yield() noexcept {
  ++yields;
  if (meanwhile) {
    meanwhile();
  }
  return static_cast<int>(::syscall(SYS_sched_yield));
}

namespace blksweep {
namespace {

constexpr std::int64_t kOneMs = 1'000'000;

// Once all of its reads are in flight: a poll that stands still for 5 ms sees none of them end, the
// next one `ended`.
class StandsStill final : public Engine {
 public:
  explicit StandsStill(std::size_t ended) : ended_(ended) {}
  const EngineFacts& facts() const override { return facts_; }
  Result<> set_files(std::uint32_t /*first_slot*/, std::span<Fd> /*fds*/) override { return {}; }
  Result<> submit(std::span<const ReadRequest> batch) override {
    submitted_ += batch.size();
    return {};
  }
  Result<std::size_t> reap(std::span<Completion> out, std::size_t /*wait_for*/,
                           std::int64_t /*until*/) override {
    if (out.size() < kReads || submitted_ < kReads) {  // also asked when the host stands still
      return std::size_t{0};
    }
    if (!std::exchange(stood_, true)) {
      std::this_thread::sleep_for(std::chrono::nanoseconds(kStill));
      return std::size_t{0};
    }
    return std::exchange(ended_, 0);
  }
  static constexpr std::int64_t kStill = 5 * kOneMs;
  static constexpr std::size_t kReads = 8;

 private:
  std::size_t ended_, submitted_ = 0;
  bool stood_ = false;
  EngineFacts facts_;
};

// Requests that are due a millisecond apart.
class EachMillisecond final : public RequestOrder {
 public:
  Next next(ReplayRequest& request) override {
    request = {.due_ns = at_ * kOneMs, .number = static_cast<std::uint64_t>(at_), .bytes = 4096};
    ++at_;
    return Next::request;
  }

 private:
  std::int64_t at_ = 0;
};

class ReplayRoom : public testing::Test {
 protected:
  ReplayRoom() { source_.next(0, wanted_); }
  void issue(std::uint32_t tag, std::int64_t at) {
    source_.handed_over({.offset = 0, .iov = nullptr, .iov_count = 0, .slot = 0, .tag = tag},
                        {at, at});
  }
  // Seen by a poll at `now`, the one before it was at `room_since`.
  void complete(std::uint32_t tag, std::int64_t room_since, std::int64_t now) {
    room_since_ = room_since;
    source_.complete({.tag = tag, .bytes = 4096, .submit_ns = 0, .now = now});
  }
  Certificate certificate() const { return record_.certify({}); }

  EachMillisecond order_;
  TargetFiles files_ = TargetFiles::device(Fd(), 0);
  ReplayRecord record_{true};
  std::int64_t room_since_ = 0;
  std::array<std::byte, 8192> memory_{};
  StandsStill engine_{0};
  WantedRead wanted_;
  ReplaySource source_{{.order = order_,
                        .files = files_,
                        .engine = engine_,
                        .memory = memory_,
                        .depth = 2,
                        .room_since = [this] { return room_since_; }},
                       record_};
};

TEST_F(ReplayRoom, WhatWasLateWithASlotFreeAllAlongIsTheTools) {
  issue(0, 0);
  complete(0, 9 * kOneMs, 10 * kOneMs);  // the other slot was free meanwhile
  source_.next(0, wanted_);  // the slot that was freed last is the first to be given again
  issue(0, 10 * kOneMs);     // due at 1 ms
  EXPECT_EQ(certificate().device.greatest, 0);
  EXPECT_EQ(certificate().tool.greatest, 9 * kOneMs);
}

TEST_F(ReplayRoom, ARequestIsWantedWhenItIsDueAfterTheBeginning) {
  for (const std::int64_t begin : {std::int64_t{0}, std::int64_t{7'000'000'123}}) {
    EachMillisecond order;
    ReplayRecord record{true};
    ReplaySource source{{.order = order,
                         .files = files_,
                         .engine = engine_,
                         .memory = memory_,
                         .depth = 2,
                         .begin_ns = begin,
                         .room_since = [] { return 0; }},
                        record};
    for (std::uint32_t i = 0; i < 2; ++i) {
      source.next(i, wanted_);
      EXPECT_EQ(wanted_.due, begin + i * kOneMs);
    }
  }
}

TEST_F(ReplayRoom, WhatWaitedForASlotIsTheDevices) {
  issue(0, 0);
  source_.next(1, wanted_);
  issue(1, 1 * kOneMs);
  complete(0, 9 * kOneMs, 10 * kOneMs);
  source_.next(0, wanted_);
  issue(0, 10 * kOneMs);  // due at 2 ms
  EXPECT_EQ(certificate().device.greatest, 7 * kOneMs);
  EXPECT_EQ(certificate().tool.greatest, 1 * kOneMs);
}

TEST_F(ReplayRoom, AReadTakesAsLongAsItsCallThoughItIsIssuedAtItsEnd) {
  source_.handed_over({.offset = 0, .iov = nullptr, .iov_count = 0, .slot = 0, .tag = 0},
                      {2 * kOneMs, 0});
  complete(0, 2 * kOneMs, 3 * kOneMs);
  EXPECT_EQ(certificate().lateness.greatest, 2 * kOneMs);
  EXPECT_NEAR(static_cast<double>(bucket_percentile(record_.latency().buckets(), 0.5)), 3e6, 1e5);
}

std::int64_t stalled_after(std::size_t ended) {
  StandsStill still(ended);
  SpinEngine engine(still, SpinEngine::Sleeps::never, 0, [](const auto&, auto) {});
  std::array<ReadRequest, StandsStill::kReads> batch{};
  EXPECT_TRUE(engine.submit(batch));
  std::array<Completion, StandsStill::kReads> out{};
  EXPECT_TRUE(engine.reap(out, 1, 0));
  EXPECT_TRUE(engine.reap(out, 1, 0));
  return engine.stalled_ns();
}

TEST(ReplayStall, CountsByTheShareOfWhatEndedUnseen) {
  EXPECT_GE(stalled_after(8), StandsStill::kStill);
  EXPECT_GE(stalled_after(6), StandsStill::kStill * 6 / 8);
  EXPECT_EQ(stalled_after(0), 0);
}

// A call, a submission or a poll, stands still for 5 ms; all that is in flight ends meanwhile.
class EndsMeanwhile final : public Engine {
 public:
  const EngineFacts& facts() const override { return facts_; }
  Result<> set_files(std::uint32_t /*first_slot*/, std::span<Fd> /*fds*/) override { return {}; }
  Result<> submit(std::span<const ReadRequest> batch) override {
    running_ += batch.size();
    stand_still(in_submit);
    return {};
  }
  Result<std::size_t> reap(std::span<Completion> out, std::size_t /*wait_for*/,
                           std::int64_t /*until*/) override {
    if (!out.empty()) {
      stand_still(in_poll);
    }
    const std::size_t n = std::min({out.size(), ended_, kMostAtOnce});
    ended_ -= n;
    return n;
  }
  static constexpr std::size_t kMostAtOnce = 3;  // as a ring: 20
  bool in_submit = false, in_poll = false, in_yield = false;
  void yield() { stand_still(in_yield); }

 private:
  void stand_still(bool& now) {
    if (std::exchange(now, false)) {
      std::this_thread::sleep_for(std::chrono::nanoseconds(StandsStill::kStill));
      ended_ += std::exchange(running_, 0);
    }
  }
  std::size_t running_ = 0, ended_ = 0;
  EngineFacts facts_;
};

// The loop makes room for one read at a time, and is told of one at a time.
void expect_whole_stall(bool in_submit) {
  EndsMeanwhile inner;
  SpinEngine engine(inner, SpinEngine::Sleeps::never, 0, [](const auto&, const auto&) {});
  std::array<ReadRequest, 8> batch{};
  EXPECT_TRUE(engine.submit(std::span(batch).first(7)));
  std::array<Completion, 1> out{};
  (in_submit ? inner.in_submit : inner.in_poll) = true;
  EXPECT_TRUE(engine.submit(std::span(batch).last(1)));
  std::size_t seen = 0;
  for (int polls = 0; seen < 8 && polls < 9; ++polls) {
    seen += engine.reap(out, 1, 0).value();
  }
  EXPECT_EQ(seen, 8U);
  EXPECT_GE(engine.stalled_ns(), StandsStill::kStill) << in_submit;
}

TEST(ReplayStall, IsSeenWholeThoughOneReadIsAskedFor) { expect_whole_stall(false); }
TEST(ReplayStall, OfACallThatHandsOverIsSeenByTheOthersInFlight) { expect_whole_stall(true); }

// Another takes the CPU that is let go of before a sleep.
TEST(ReplayStall, OfWhoeverHasTheCpuBeforeASleepIsSeenWhole) {
  EndsMeanwhile inner;
  SpinEngine engine(inner, SpinEngine::Sleeps::until_due, 0, [](const auto&, const auto&) {});
  std::array<ReadRequest, 7> batch{};
  EXPECT_TRUE(engine.submit(batch));
  std::array<Completion, 1> out{};
  inner.in_yield = true;
  meanwhile = [&] { inner.yield(); };
  std::size_t seen = 0;
  for (int polls = 0; seen < 7 && polls < 9; ++polls) {
    seen += engine.reap(out, 1, now_ns() + 100 * StandsStill::kStill).value();
  }
  meanwhile = {};
  EXPECT_EQ(seen, 7U);
  EXPECT_GE(engine.stalled_ns(), StandsStill::kStill);
}

class SaysUntil final : public Engine {
 public:
  const EngineFacts& facts() const override { return facts_; }
  Result<> set_files(std::uint32_t, std::span<Fd>) override { return {}; }
  Result<> submit(std::span<const ReadRequest>) override { return {}; }
  Result<std::size_t> reap(std::span<Completion> out, std::size_t wait_for,
                           std::int64_t until) override {
    slept |= wait_for > 0;
    while (wait_for > 0 && now_ns() < until) {
    }
    return now_ns() < end ? 0 : std::min<std::size_t>(1, out.size());
  }
  bool slept = false;
  std::int64_t end = 0;

 private:
  EngineFacts facts_;
};

bool sleeps_before(std::int64_t ahead, std::int64_t spin) {
  SaysUntil inner;
  SpinEngine engine(inner, SpinEngine::Sleeps::until_due, spin, [](const auto&, auto) {});
  std::array<Completion, 1> out{};
  const std::int64_t due = now_ns() + ahead;
  inner.end = due - spin / 2;
  EXPECT_TRUE(engine.reap(out, 1, due));
  return inner.slept;
}

TEST(ReplaySpin, SleepsOnlyWhileNothingIsDueForLonger) {
  EXPECT_TRUE(sleeps_before(20 * kOneMs, kOneMs));
  EXPECT_FALSE(sleeps_before(20 * kOneMs, 30 * kOneMs));
}

// How often the CPU is let go of in two waits for a time so far ahead, after so many requests.
int yields_before(std::int64_t ahead, std::size_t handed_over) {
  SaysUntil inner;
  SpinEngine engine(inner, SpinEngine::Sleeps::until_due, kOneMs, [](const auto&, auto) {});
  const std::array<ReadRequest, 3> batch{};
  EXPECT_TRUE(engine.submit(std::span(batch).first(handed_over)));
  std::array<Completion, 1> out{};
  inner.end = kForever;
  yields = 0;
  EXPECT_TRUE(engine.reap(out, 1, now_ns() + ahead));
  EXPECT_TRUE(engine.reap(out, 1, now_ns() + ahead));
  return yields;
}

TEST(ReplaySpin, LetsGoOfTheCpuOnceAfterAHandOverAndOnlyWhereItSleeps) {
  EXPECT_EQ(yields_before(5 * kOneMs, 3), 1);
  EXPECT_EQ(yields_before(5 * kOneMs, 0), 0);
  EXPECT_EQ(yields_before(kOneMs / 2, 3), 0);
}

}  // namespace
}  // namespace blksweep
