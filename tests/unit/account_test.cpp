#include "stats/account.h"

#include <gtest/gtest.h>

#include "support/pipeline_clock.h"

namespace blksweep {
namespace {

using support::batch_times;
using support::PipelineClock;
using support::PipelineTimes;

using Named = std::vector<std::pair<Stall, std::int64_t>>;

// The lane_stalls of a lane that are not zero.
Named lane_stalls(const Account& a, Stage lane) {
  Named out;
  for (std::size_t s = 0; s < kStalls; ++s) {
    if (const std::int64_t ns = a.lane(lane)->stalls[s]; ns != 0) {
      out.emplace_back(static_cast<Stall>(s), ns);
    }
  }
  return out;
}

TEST(Account, OfAComputeBoundEpochShowsOnlyTheFirstBatch) {
  const PipelineClock clock({.read = 8, .copy = 3, .compute = 10, .batches = 100, .prefetch = 2});
  const Account a = clock.account();
  EXPECT_EQ(broken_identity(a), "");
  EXPECT_EQ(a.wall, 8 + 3 + 1000);
  EXPECT_EQ(lane_stalls(a, Stage::compute), (Named{{Stall::storage, 8}, {Stall::copy, 3}}));
  EXPECT_EQ(a.lane(Stage::copy)->exposed, 3);
  EXPECT_EQ(a.lane(Stage::copy)->hidden, 297);
  EXPECT_EQ(a.lane(Stage::read)->exposed, 8);
  EXPECT_EQ(a.overlap, 800 + 300 + 1000 - a.wall);
  EXPECT_EQ(a.longest, Stage::compute);
  EXPECT_EQ(a.ideal, 1000);
  EXPECT_GT(a.ideal_share().value(), 0.98);
  EXPECT_EQ(a.first_batch, 11);
  EXPECT_EQ(a.utilisation(), 1000.0 / 1011);
}

TEST(Account, WithoutPrefetchNothingIsHiddenAndTheEpochIsTheSum) {
  const PipelineClock clock({.read = 8, .copy = 3, .compute = 10, .batches = 100, .prefetch = 0});
  const Account a = clock.account();
  EXPECT_EQ(broken_identity(a), "");
  EXPECT_EQ(a.wall, 2100);
  EXPECT_EQ(a.overlap, 0);
  EXPECT_EQ(lane_stalls(a, Stage::compute), (Named{{Stall::storage, 800}, {Stall::copy, 300}}));
  // The reader waits for the memory of the batch before, while that is copied, then computed.
  EXPECT_EQ(lane_stalls(a, Stage::read),
            (Named{{Stall::copy, 3 * 99}, {Stall::consumer, 10 * 99}, {Stall::done, 13}}));
  // The copy stage waits for a batch that is nowhere until there is memory, then is read.
  EXPECT_EQ(lane_stalls(a, Stage::copy),
            (Named{{Stall::storage, 800}, {Stall::window, 990}, {Stall::done, 10}}));
}

TEST(Account, OfTheExampleInItsDocumentIsAsDrawn) {
  const PipelineClock clock({.read = 2, .copy = 1, .compute = 3, .batches = 3, .prefetch = 1});
  const Account a = clock.account();
  EXPECT_EQ(a.wall, 12);
  EXPECT_EQ(a.overlap, 6);
  EXPECT_EQ(a.ideal, 9);
  EXPECT_EQ(a.first_batch, 3);
  EXPECT_EQ(a.lane(Stage::read)->hidden, 4);
  EXPECT_EQ(a.lane(Stage::copy)->hidden, 2);
  EXPECT_EQ(lane_stalls(a, Stage::read), (Named{{Stall::consumer, 2}, {Stall::done, 4}}));
  EXPECT_EQ(lane_stalls(a, Stage::copy),
            (Named{{Stall::storage, 5}, {Stall::window, 1}, {Stall::done, 3}}));
  EXPECT_EQ(lane_stalls(a, Stage::compute), (Named{{Stall::storage, 2}, {Stall::copy, 1}}));
}

TEST(Account, OfACopyBoundEpochBlamesTheCopies) {
  const PipelineClock clock({.read = 2, .copy = 10, .compute = 3, .batches = 50, .prefetch = 2});
  const Account a = clock.account();
  EXPECT_EQ(broken_identity(a), "");
  EXPECT_EQ(a.wall, 2 + 500 + 3);
  EXPECT_EQ(lane_stalls(a, Stage::compute),
            (Named{{Stall::storage, 2}, {Stall::copy, 10 + 49 * 7}}));
  EXPECT_EQ(a.longest, Stage::copy);
  EXPECT_EQ(a.lane(Stage::copy)->exposed, 500 - 49 * 3);
  // Of each round of 10 ns the reader reads for 2 and waits while the oldest batch is copied for 5
  // more and computed for 3. The first of 47 waits begins earlier: only three batches were read.
  EXPECT_EQ(a.lane(Stage::read)->stall(Stall::copy), 47 * 5 + 1);
  EXPECT_EQ(a.lane(Stage::read)->stall(Stall::consumer), 47 * 3);
  EXPECT_EQ(a.lane(Stage::read)->stall(Stall::host), 0);
}

TEST(Account, OfAStorageBoundEpochBlamesTheStorage) {
  const PipelineClock clock({.read = 10, .copy = 2, .compute = 3, .batches = 50, .prefetch = 2});
  const Account a = clock.account();
  EXPECT_EQ(a.wall, 500 + 2 + 3);
  EXPECT_EQ(lane_stalls(a, Stage::compute),
            (Named{{Stall::storage, 10 + 49 * 5}, {Stall::copy, 100}}));
  EXPECT_EQ(lane_stalls(a, Stage::read), (Named{{Stall::done, 5}}));
  EXPECT_EQ(a.longest, Stage::read);
  EXPECT_EQ(a.ideal, 500);
}

TEST(Account, SaysThatTheStagingIsFull) {
  const PipelineClock clock(
      {.read = 1, .copy = 1, .compute = 10, .batches = 20, .prefetch = 100, .slots = 1});
  const Account a = clock.account();
  EXPECT_EQ(broken_identity(a), "");
  EXPECT_EQ(a.wall, 1 + 11 * 20);
  EXPECT_EQ(lane_stalls(a, Stage::copy),
            (Named{{Stall::storage, 1}, {Stall::staging, 190}, {Stall::done, 10}}));
  EXPECT_EQ(lane_stalls(a, Stage::compute), (Named{{Stall::storage, 1}, {Stall::copy, 20}}));
  EXPECT_EQ(lane_stalls(a, Stage::read), (Named{{Stall::done, 201}}));
}

// --device-slots 1 against 2 with the same prefetch: what a blocking copy costs, and why.
TEST(Account, OfABlockingCopyShowsAllOfItToTheConsumer) {
  PipelineTimes t{.read = 2, .copy = 3, .compute = 10, .batches = 100, .prefetch = 2, .slots = 1};
  const Account blocking = PipelineClock(t).account();
  t.slots = 2;
  const Account overlapped = PipelineClock(t).account();
  EXPECT_EQ(blocking.wall, 2 + 100 * (3 + 10));
  EXPECT_EQ(overlapped.wall, 2 + 3 + 100 * 10);
  // The difference is the copies that are hidden now, all but the first.
  EXPECT_EQ(blocking.lane(Stage::copy)->exposed, 300);
  EXPECT_EQ(overlapped.lane(Stage::copy)->exposed, 3);
  EXPECT_EQ(blocking.wall - overlapped.wall, 300 - 3);
  // Why: the copy lane waits for the one slot until its batch is computed, the consumer for the
  // copy.
  EXPECT_EQ(lane_stalls(blocking, Stage::copy),
            (Named{{Stall::storage, 2}, {Stall::staging, 990}, {Stall::done, 10}}));
  EXPECT_EQ(lane_stalls(blocking, Stage::compute),
            (Named{{Stall::storage, 2}, {Stall::copy, 300}}));
  EXPECT_EQ(lane_stalls(overlapped, Stage::compute),
            (Named{{Stall::storage, 2}, {Stall::copy, 3}}));
  EXPECT_EQ(broken_identity(blocking) + broken_identity(overlapped), "");
}

TEST(Account, OfABlockingCopySaysWhenStorageHidesIt) {
  PipelineTimes t{.read = 20, .copy = 3, .compute = 10, .batches = 50, .prefetch = 2, .slots = 1};
  const Account blocking = PipelineClock(t).account();
  t.slots = 2;
  const Account overlapped = PipelineClock(t).account();
  EXPECT_EQ(blocking.wall, overlapped.wall) << "the batch before is computed long since";
  EXPECT_EQ(blocking.lane(Stage::copy)->stall(Stall::staging), 0);
  EXPECT_EQ(blocking.lane(Stage::compute)->stall(Stall::storage), 20 + 49 * 7);
}

TEST(Account, OfOneBatchIsItsStagesInTurn) {
  const Account a = PipelineClock({.batches = 1}).account();
  EXPECT_EQ(a.wall, 21);
  EXPECT_EQ(a.overlap, 0);
  EXPECT_EQ(lane_stalls(a, Stage::read), (Named{{Stall::done, 13}}));
  EXPECT_EQ(lane_stalls(a, Stage::copy), (Named{{Stall::storage, 8}, {Stall::done, 10}}));
  EXPECT_EQ(lane_stalls(a, Stage::compute), (Named{{Stall::storage, 8}, {Stall::copy, 3}}));
}

TEST(Account, OfAnEmptyEpochIsEmpty) {
  const Account none = PipelineClock({.batches = 0}).account();
  EXPECT_EQ(broken_identity(none), "");
  EXPECT_EQ(none.wall, 0);
  EXPECT_EQ(none.utilisation(), std::nullopt);
  EXPECT_EQ(none.ideal_share(), std::nullopt);
  EXPECT_EQ(none.first_batch, std::nullopt);
  const Account idle = make_account({.epoch = {5, 25}, .lanes = {.copy = true, .compute = true}});
  EXPECT_EQ(broken_identity(idle), "");
  EXPECT_EQ(lane_stalls(idle, Stage::compute), (Named{{Stall::done, 20}}));
  EXPECT_EQ(lane_stalls(idle, Stage::read), (Named{{Stall::done, 20}}));
}

TEST(Account, WithoutStagesHasOnlyTheLanesThatExist) {
  const Account reading = PipelineClock({.copy = 0, .compute = 0, .batches = 10}).account();
  EXPECT_EQ(reading.lane(Stage::copy), nullptr);
  EXPECT_EQ(reading.lane(Stage::compute), nullptr);
  EXPECT_EQ(reading.utilisation(), std::nullopt);
  EXPECT_EQ(reading.lane(Stage::read)->exposed, 80);
  EXPECT_EQ(reading.first_batch, 8);
  const Account uncopied = PipelineClock({.read = 8, .copy = 0, .batches = 10}).account();
  EXPECT_EQ(lane_stalls(uncopied, Stage::compute), (Named{{Stall::storage, 8}}));
  const Account unused =
      PipelineClock({.read = 8, .copy = 3, .compute = 0, .batches = 10}).account();
  EXPECT_EQ(unused.lane(Stage::copy)->exposed, 30);
  EXPECT_EQ(unused.lane(Stage::read)->hidden, 27);
  for (const Account* a : {&reading, &uncopied, &unused}) {
    EXPECT_EQ(broken_identity(*a), "");
  }
}

// Batch 0 is there after batch 1; the consumer takes them in order.
TEST(Account, WaitsForTheBatchThatComesNextNotForTheOneThatIsThere) {
  const std::vector<BatchTimes> batches{
      batch_times({{Stage::read, {2, 20}}, {Stage::compute, {20, 30}}}, 30),
      batch_times({{Stage::read, {4, 10}}, {Stage::compute, {32, 40}}}, 40)};
  const Account a =
      make_account({.epoch = {0, 45}, .batches = batches, .lanes = {.compute = true}});
  EXPECT_EQ(broken_identity(a), "");
  EXPECT_EQ(lane_stalls(a, Stage::compute),
            (Named{{Stall::start, 2}, {Stall::storage, 18}, {Stall::host, 2}, {Stall::done, 5}}));
  EXPECT_EQ(lane_stalls(a, Stage::read), (Named{{Stall::start, 2}, {Stall::done, 25}}));
}

TEST(Account, OfIntervalsWithoutLengthStillNamesWhatIsAwaited) {
  const std::vector<BatchTimes> batches{
      batch_times({{Stage::read, {0, 0}}, {Stage::compute, {5, 5}}}, 5),
      batch_times({{Stage::read, {6, 9}}, {Stage::compute, {9, 9}}}, 9)};
  const Account a =
      make_account({.epoch = {0, 10}, .batches = batches, .lanes = {.compute = true}});
  EXPECT_EQ(broken_identity(a), "");
  EXPECT_EQ(a.lane(Stage::compute)->busy, 0);
  // Until 5 for batch 0, which nobody takes; until 6 for batch 1, which nobody submits; then it is
  // read.
  EXPECT_EQ(lane_stalls(a, Stage::compute),
            (Named{{Stall::storage, 3}, {Stall::host, 6}, {Stall::done, 1}}));
}

TEST(Account, SplitsTheLifeOfABatchIntoPhases) {
  std::vector<BatchTimes> batches{
      batch_times({{Stage::read, {0, 10}}, {Stage::copy, {11, 14}}, {Stage::compute, {14, 34}}},
                  35),
      batch_times({{Stage::read, {2, 16}}, {Stage::copy, {30, 33}}, {Stage::compute, {35, 50}}},
                  50)};
  batches[1][Stage::copy]->wait = 20;
  const Account a = make_account(
      {.epoch = {0, 50}, .batches = batches, .lanes = {.copy = true, .compute = true}});
  EXPECT_EQ(broken_identity(a), "");
  const auto phase = [&a](Phase p) { return a.phases[static_cast<std::size_t>(p)]; };
  EXPECT_EQ(phase(Phase::queued), 8);
  EXPECT_EQ(phase(Phase::device), 10 + 6);
  EXPECT_EQ(phase(Phase::window), 1 + 4);
  EXPECT_EQ(phase(Phase::staging), 10);
  EXPECT_EQ(phase(Phase::copy), 6);
  EXPECT_EQ(phase(Phase::staged), 2);
  EXPECT_EQ(phase(Phase::compute), 35);
  EXPECT_EQ(phase(Phase::held), 1);
  EXPECT_EQ(a.batch_life, 35 + 48);
}

TEST(Account, OfATimeOutsideTheEpochDoesNotHold) {
  std::vector<BatchTimes> batches{
      batch_times({{Stage::read, {0, 10}}, {Stage::compute, {12, 11}}}, 12)};
  const auto broken = [&] {
    return broken_identity(
        make_account({.epoch = {0, 20}, .batches = batches, .lanes = {.compute = true}}));
  };
  EXPECT_EQ(broken(), "1 intervals end before they begin or leave the epoch");
  batches[0][Stage::compute] = without_wait({12, 21});
  EXPECT_NE(broken(), "");
  batches[0][Stage::compute] = without_wait({11, 12});
  EXPECT_EQ(broken(), "");
  // Within the copy: what it says is inside that, and is not counted twice.
  batches[0][Stage::transfer] = without_wait({11, 21});
  batches[0][Stage::blocked] = without_wait({-1, 12});
  EXPECT_EQ(broken(), "");
  batches[0][Stage::release] = without_wait({12, 21});
  EXPECT_EQ(broken(), "1 intervals end before they begin or leave the epoch");
}

TEST(Account, WhoseSumsWereTamperedWithDoesNotHold) {
  const Account good = PipelineClock({}).account();
  Account a = good;
  a.lanes[1].hidden += 1;
  EXPECT_NE(broken_identity(a).find("copy lane: hidden + exposed is not busy"), std::string::npos);
  a = good;
  a.lanes[0].stalls[0] -= 1;
  EXPECT_NE(broken_identity(a).find("read lane: busy + stalls is not wall"), std::string::npos);
  a = good;
  a.covered += 1;
  EXPECT_NE(broken_identity(a), "");
  a = good;
  a.phases[0] += 1;
  EXPECT_NE(broken_identity(a).find("phases"), std::string::npos);
}

}  // namespace
}  // namespace blksweep
