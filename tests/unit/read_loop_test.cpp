// The loop in virtual time: due times, groups, lists. What it does for a plan is in reader_test.
#include "io/read_loop.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/clock.h"
#include "io/read_list.h"

namespace blksweep {
namespace {

using Times = std::vector<std::int64_t>;

class VirtualClock final : public Clock {
 public:
  std::int64_t now() override { return now_; }
  void wait_until(std::int64_t when) override {
    now_ = std::max(now_, when);
    if (now_ >= stop_at) {
      stop.store(true);
    }
  }
  std::int64_t stop_at = kForever;
  std::atomic<bool> stop{false};

 private:
  std::int64_t now_ = 0;
};

// Each read takes the same time, however many there are, and brings `share` of its bytes.
class SteadyEngine final : public Engine {
 public:
  SteadyEngine(VirtualClock& clock, std::int64_t latency) : clock_(clock), latency_(latency) {}
  const EngineFacts& facts() const override { return facts_; }
  Result<> set_files(std::uint32_t, std::span<Fd>) override { return {}; }
  Result<> submit(std::span<const ReadRequest> batch) override {
    groups.push_back(batch.size());
    for (const ReadRequest& r : batch) {
      const auto bytes = static_cast<std::int32_t>(r.iov->iov_len) - missing;
      inside_.push_back({clock_.now() + latency_, {r.tag, fails > 0 ? -fails : bytes}});
      submitted.push_back(clock_.now());
    }
    return {};
  }
  Result<std::size_t> reap(std::span<Completion> out, std::size_t wait_for,
                           std::int64_t until) override {
    EXPECT_LE(wait_for, inside_.size());
    clock_.wait_until(std::min(until, inside_[wait_for - 1].at));
    std::size_t n = 0;
    while (n < out.size() && !inside_.empty() && inside_.front().at <= clock_.now()) {
      out[n++] = inside_.front().done;
      inside_.erase(inside_.begin());
    }
    return n;
  }
  Times submitted;
  std::vector<std::size_t> groups;
  int missing = 0, fails = 0;

 private:
  struct Inside {
    std::int64_t at;
    Completion done;
  };
  VirtualClock& clock_;
  std::int64_t latency_;
  std::vector<Inside> inside_;
  EngineFacts facts_;
};

// One read of a page at each of the given times.
class DueSource final : public ReadSource {
 public:
  explicit DueSource(Times due) : due_(std::move(due)) {}
  Next next(std::uint32_t, WantedRead& wanted) override {
    if (!more()) {
      return Next::end;
    }
    wanted = {0, 4096, due_[next_++]};
    return Next::request;
  }
  bool more() const override { return next_ < due_.size(); }
  ReadAim aim(std::uint32_t, std::uint32_t) override { return {0, {&iov_, 1}}; }
  void complete(const ReadDone& done) override { completed.push_back(done.now); }
  void fail(std::uint32_t, int, std::int64_t) override {}
  Times completed;

 private:
  Times due_;
  std::size_t next_ = 0;
  iovec iov_{nullptr, 4096};
};

Times submitted_at(const Times& due, std::int64_t latency, const ReadLoopSettings& settings) {
  VirtualClock clock;
  SteadyEngine engine(clock, latency);
  DueSource source(due);
  ReadLoop loop(source, engine, clock, settings);
  EXPECT_TRUE(loop.run(nullptr));
  EXPECT_EQ(source.completed.size(), due.size());
  EXPECT_EQ(loop.counts().submitted, due.size());
  return engine.submitted;
}

TEST(ReadLoop, SubmitsWhatIsDueWhateverIsInFlight) {
  EXPECT_EQ(submitted_at({0, 10, 10, 50, 1000}, 30, {.depth = 4}), (Times{0, 10, 10, 50, 1000}));
}

TEST(ReadLoop, SubmitsLaterWhereThereIsNoRoom) {
  EXPECT_EQ(submitted_at({0, 10, 20, 100}, 30, {.depth = 1}), (Times{0, 30, 60, 100}));
  EXPECT_EQ(submitted_at({5, 5, 6}, 30, {.depth = 2}), (Times{5, 5, 35}));
}

TEST(ReadLoop, WholeGroupsWaitForRoomAlthoughTheyAreDue) {
  EXPECT_EQ(submitted_at({0, 0, 0, 0, 7, 7}, 30, {.depth = 4, .group = 2}),
            (Times{0, 0, 0, 0, 30, 30}));
}

TEST(ReadLoop, RefillsInTheGroupsThatWereAskedForAlthoughMoreIsThere) {
  const auto groups_of = [](unsigned refill) {
    VirtualClock clock;
    SteadyEngine engine(clock, 30);  // all four come at once
    DueSource source(Times(8, 0));
    ReadLoop loop(source, engine, clock, {.depth = 4, .refill = refill});
    EXPECT_TRUE(loop.run(nullptr));
    return engine.groups;
  };
  EXPECT_EQ(groups_of(1), (std::vector<std::size_t>{4, 1, 1, 1, 1}));
  EXPECT_EQ(groups_of(2), (std::vector<std::size_t>{4, 2, 2}));
}

TEST(ReadLoop, StopEndsTheWaitForADueRequest) {
  VirtualClock clock;
  clock.stop_at = 3'000'000'000;
  SteadyEngine engine(clock, 30);
  DueSource source({0, 60'000'000'000});
  ReadLoop loop(source, engine, clock, {.depth = 2});
  EXPECT_TRUE(loop.run(&clock.stop));
  EXPECT_EQ(engine.submitted.size(), 1U);
  EXPECT_LT(clock.now(), 4'000'000'000);
}

class CountedList final : public ReadList {
 public:
  using ReadList::ReadList;
  std::vector<std::size_t> order;
  std::vector<std::uint32_t> bytes;
  std::vector<int> errors;

 private:
  void ended(std::size_t read, const ReadDone& done, int error) override {
    order.push_back(read);
    bytes.push_back(done.bytes);
    errors.push_back(error);
  }
  std::int64_t pause_before(std::size_t read) const override { return read == 2 ? 1000 : 0; }
};

struct ListRun {
  VirtualClock clock;
  SteadyEngine engine{clock, 30};
  std::array<ByteRange, 4> reads{{{0, 4096}, {8192, 12288}, {4096, 8192}, {16384, 20480}}};
  std::array<std::byte, 8192> memory{};
  std::array<iovec, 2> iov{};

  CountedList run(unsigned depth, std::int64_t until) {
    CountedList list(reads, memory, std::span(iov).first(depth), until);
    ReadLoop loop(list, engine, clock, {.depth = depth});
    EXPECT_TRUE(loop.run(nullptr));
    return list;
  }
};

TEST(ReadList, PausesAndEndsInTime) {
  ListRun all;
  EXPECT_EQ(all.run(1, kForever).order, (std::vector<std::size_t>{0, 1, 2, 3}));
  EXPECT_EQ(all.engine.submitted, (Times{0, 30, 1060, 1090}));
  ListRun cut;
  EXPECT_EQ(cut.run(2, 1).order, (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(ListRun().run(2, 0).order.size(), 0U);
}

TEST(ReadList, SaysWhatWasShortAndWhatFailed) {
  ListRun shorter;
  shorter.engine.missing = 96;
  EXPECT_EQ(shorter.run(2, kForever).bytes, std::vector<std::uint32_t>(4, 4000));
  ListRun broken;
  broken.engine.fails = EIO;
  EXPECT_EQ(broken.run(2, kForever).errors, std::vector<int>(4, EIO));
}

// The ring's wait has an end, and what was not there by then is there later.
TEST(Engine, AWaitEndsInTime) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const Fd in(ends[1]);
  std::array<std::byte, 16> memory{};
  const auto engine = make_engine_on(Fd(ends[0]), EngineKind::io_uring, 2, memory);
  if (!engine) {
    GTEST_SKIP() << engine.error().message();
  }
  const iovec iov{memory.data(), 4};
  const ReadRequest request{0, &iov, 1, 0, 1};
  ASSERT_TRUE((*engine)->submit({&request, 1}));
  std::array<Completion, 2> done{};
  const std::int64_t begin = now_ns();
  EXPECT_EQ((*engine)->reap(done, 1, begin + 20'000'000).value_or(9), 0U);
  EXPECT_GE(now_ns(), begin + 20'000'000);
  EXPECT_EQ((*engine)->reap(done, 1, begin).value_or(9), 0U) << "in the past: it does not wait";
  ASSERT_EQ(::write(in.get(), "abcd", 4), 4);
  ASSERT_EQ((*engine)->reap(done, 1, now_ns() + 5'000'000'000).value_or(9), 1U);
  EXPECT_EQ(done[0].result, 4);
}

}  // namespace
}  // namespace blksweep
