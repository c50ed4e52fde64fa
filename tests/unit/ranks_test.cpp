// Ranks: what they have delivered together, and who is told when one of them is lost.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <numeric>
#include <thread>

#include "base/clock.h"
#include "base/rng.h"
#include "loader/verify.h"
#include "ranks/hub.h"
#include "ranks/rank_process.h"
#include "ranks/result.h"
#include "support/rank_rows.h"

namespace blksweep {
namespace {

using std::chrono::milliseconds;
using support::at;
using support::row_of;
using Kind = RankMessage::Kind;

TEST(EmissionProof, IsThatOfOneProcessWhoeverDeliveredWhat) {
  Rng rng(5);
  std::vector<std::uint32_t> samples(5000);
  for (std::uint32_t& s : samples) {
    s = static_cast<std::uint32_t>(rng.below(1000));
  }
  std::vector<std::uint64_t> delivered;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    delivered.push_back(at(i, samples[i]));
  }
  for (std::size_t i = delivered.size(); i > 1; --i) {  // as many ranks' come, in no order
    std::swap(delivered[i - 1], delivered[rng.below(i)]);
  }
  const EmissionProof proof = prove_emission(delivered, samples.size());
  EXPECT_TRUE(proof.whole());
  EXPECT_EQ(proof.hash, emission_hash(samples));
}

TEST(EmissionProof, SeesWhatIsMissingAndWhatCameTwice) {
  std::vector<std::uint64_t> delivered{at(0, 7), at(1, 8), at(1, 8), at(3, 9)};
  const EmissionProof proof = prove_emission(delivered, 4);
  EXPECT_EQ(proof.missing, 1U);
  EXPECT_EQ(proof.duplicated, 1U);
  EXPECT_FALSE(proof.whole());
  EXPECT_EQ(prove_emission(std::vector{at(9, 1)}, 4).missing, 4U);
}

TEST(RanksResult, IsCompleteOnlyWhenEveryRankIsDoneAndAllIsProven) {
  RanksResult result{"{\"seed\":3}",
                     {row_of(0, RankState::done), row_of(1, RankState::done)},
                     {},
                     EmissionProof{}};
  EXPECT_TRUE(is_complete(result));
  EXPECT_EQ(result_json(result)["seed"], 3);
  const auto spoilt = [&](auto spoil) {
    RanksResult other = result;
    spoil(other);
    return !is_complete(other) && result_json(other)["complete"] == false;
  };
  EXPECT_TRUE(spoilt([](RanksResult& r) { r.rows[1].state = RankState::ended; }));
  EXPECT_TRUE(spoilt([](RanksResult& r) { r.rows[0].wrong = 1; }));
  EXPECT_TRUE(spoilt([](RanksResult& r) { r.proof.reset(); }));
  EXPECT_TRUE(spoilt([](RanksResult& r) { r.proof->missing = 1; }));
  EXPECT_TRUE(spoilt([](RanksResult& r) { r.proof->misplaced = 1; }));
  EXPECT_TRUE(spoilt([](RanksResult& r) { r.fault = RankFault{1, "gone"}; }));
}

TEST(RanksResult, JoinedTimesAreTheFirstsAndTheLasts) {
  std::vector<RankRow> rows(3);
  for (std::uint32_t i = 0; i < 3; ++i) {
    rows[i] = row_of(i, RankState::done);
    rows[i].samples = 10;
    rows[i].begin_ns = 5 - i;
    rows[i].last_ns = 100 + 10 * i;
    rows[i].node = i / 2;
    rows[i].clock_error_ns = i;
  }
  rows.push_back(row_of(3, RankState::done));  // had nothing to read: its times say nothing
  const JoinedRow j = join_rows(rows);
  EXPECT_EQ(j.samples, 30U);
  EXPECT_EQ(j.nodes, 2U);
  EXPECT_EQ(j.start_skew_ns, 2);
  EXPECT_EQ(j.skew_ns(), 20);
  EXPECT_EQ(j.last_done_ns, 120);
  EXPECT_EQ(j.clock_error_ns, 2);
}

// A hub of three ranks, of which two are links of the test.
struct Job {
  explicit Job(HubSettings settings = {}) {
    place.ranks = 3;
    Fd listener = *listen_as_hub(place.hub);
    hub.emplace(std::move(listener), place, settings);
    for (std::uint32_t rank : {1U, 2U}) {
      links.push_back(*connect_to_hub(place.hub));
      say(rank, Kind::row, row_of(rank, RankState::reading));
    }
    EXPECT_FALSE(look());
    EXPECT_EQ(hub->rows()[2].state, RankState::reading);
  }
  void say(std::uint32_t rank, Kind kind, const RankRow& row, const std::string& text = "") {
    RankMessage m;
    m.token = place.hub.token;
    m.kind = kind;
    m.rank = rank;
    m.row = row;
    put_text(m.text, text);
    EXPECT_TRUE(links[rank - 1].send(m));
  }
  // What has been sent is there a moment later.
  std::optional<RankFault> look() {
    for (int i = 0; i < 50; ++i) {
      if (auto fault = hub->look(row_of(0, RankState::reading), now_ns())) {
        return fault;
      }
      std::this_thread::sleep_for(milliseconds(1));
    }
    return std::nullopt;
  }
  RankPlace place;
  std::optional<Hub> hub;
  std::vector<Link> links;
};

TEST(RankHub, ARankThatEndedIsNamedWithWhatItHadRead) {
  Job job;
  RankRow row = row_of(2, RankState::reading);
  row.samples = 77;
  job.say(2, Kind::lost, row, "ended by signal 9 (Killed)");
  const auto fault = job.look();
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->rank, 2U);
  EXPECT_EQ(fault->text, "ended by signal 9 (Killed)");
  std::thread other([&] {
    std::optional<RankMessage> order;
    while (!order || order->kind == Kind::heard) {
      order = job.links[0].receive();
    }
    EXPECT_EQ(order->kind, Kind::end);
    job.say(1, Kind::last, row_of(1, RankState::reading));
  });
  job.hub->end_all(*fault, milliseconds(5000));
  other.join();
  EXPECT_EQ(job.hub->rows()[1].state, RankState::ended);
  EXPECT_EQ(job.hub->rows()[2].state, RankState::lost);
  EXPECT_EQ(job.hub->rows()[2].samples, 77U);
}

TEST(RankHub, ALinkThatClosesIsALostRankUnlessItWasDone) {
  Job job;
  job.say(1, Kind::row, row_of(1, RankState::done));
  job.links[0].close();
  EXPECT_FALSE(job.look());
  job.links[1].close();
  const auto fault = job.look();
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->rank, 2U);
}

TEST(RankHub, SilenceIsALostRankButNotWhereTheHubItselfStoodStill) {
  Job job({.silence = milliseconds(900)});
  const std::int64_t now = now_ns();
  const RankRow own = row_of(0, RankState::reading);
  EXPECT_FALSE(job.hub->look(own, now + 60'000'000'000));  // nobody could be heard meanwhile
  EXPECT_FALSE(job.hub->look(own, now + 60'500'000'000));
  const auto fault = job.hub->look(own, now + 61'400'000'000);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->rank, 1U);
}

TEST(RankHub, WhomOthersWaitForTooLongIsNamedUnlessItGetsOn) {
  Job job({.patience = milliseconds(900), .silence = std::chrono::seconds(100)});
  const auto ahead = [&](std::uint32_t rank) {
    RankRow row = row_of(rank, RankState::ready);
    row.arrivals = 1;
    return row;
  };
  std::int64_t now = now_ns();
  const auto look = [&] { return job.hub->look(ahead(0), now += 500'000'000); };
  job.say(1, Kind::row, ahead(1));
  EXPECT_FALSE(look());
  for (int i = 1; i < 6; ++i) {  // rank 2 is slow, and reads
    RankRow row = row_of(2, RankState::reading);
    row.samples = static_cast<std::uint64_t>(i);
    job.say(2, Kind::row, row);
    std::this_thread::sleep_for(milliseconds(5));
    EXPECT_FALSE(look());
  }
  EXPECT_FALSE(look());
  const auto fault = look();
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->rank, 2U);
}

// Ranks 1 and 2 are in a barrier that rank 0 has left; 1 looks again all the while.
TEST(RankHub, OfThoseThatAreEquallyFarTheOneThatDoesNotStirIsNamed) {
  Job job({.patience = milliseconds(900), .silence = std::chrono::seconds(100)});
  const auto row = [](std::uint32_t rank, std::uint64_t arrivals, std::uint64_t cpu) {
    RankRow r = row_of(rank, RankState::reading);
    r.arrivals = arrivals;
    r.cpu_ns = cpu;
    return r;
  };
  std::int64_t now = now_ns();
  std::optional<RankFault> fault;
  for (std::uint64_t i = 0; i < 8 && !fault; ++i) {
    job.say(1, Kind::row, row(1, 4, i));
    job.say(2, Kind::row, row(2, 4, 7));
    std::this_thread::sleep_for(milliseconds(5));
    fault = job.hub->look(row(0, 5, i), now += 300'000'000);
  }
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->rank, 2U);
}

// In MPI's start, say: nobody is ahead, and the others look again. Who works meanwhile is let be.
TEST(RankHub, WhereAllAreEquallyFarTheOneThatIsStoppedIsNamed) {
  for (const bool stopped : {true, false}) {
    Job job({.patience = milliseconds(900), .silence = std::chrono::seconds(100)});
    std::int64_t now = now_ns();
    std::optional<RankFault> fault;
    for (std::uint64_t i = 1; i < 9 && !fault; ++i) {
      for (const std::uint32_t rank : {1U, 2U}) {
        RankRow row = row_of(rank, RankState::starting);
        row.arrivals = 1;
        row.cpu_ns = rank == 2 && stopped ? 7 : i;
        job.say(rank, Kind::row, row);
      }
      std::this_thread::sleep_for(milliseconds(5));
      RankRow own = row_of(0, RankState::starting);
      own.arrivals = 1;
      own.cpu_ns = i;
      fault = job.hub->look(own, now += 300'000'000);
    }
    ASSERT_EQ(fault.has_value(), stopped);
    EXPECT_EQ(stopped ? fault->rank : 2U, 2U);
  }
}

TEST(RankHub, OneThatNeverCameIsNamed) {
  RankPlace place;
  place.ranks = 3;
  Fd listener = *listen_as_hub(place.hub);
  Hub hub(std::move(listener), place,
          {.patience = milliseconds(900), .silence = std::chrono::seconds(100)});
  RankRow own = row_of(0, RankState::starting);
  own.arrivals = 1;
  Link one = *connect_to_hub(place.hub);
  RankMessage m;
  m.token = place.hub.token;
  m.rank = 1;
  m.row = own;
  ASSERT_TRUE(one.send(m));
  std::optional<RankFault> fault;
  for (std::int64_t now = now_ns(), i = 0; i < 8 && !fault; ++i) {
    fault = hub.look(own, now += 300'000'000);
    std::this_thread::sleep_for(milliseconds(5));
  }
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->rank, 2U);
  EXPECT_NE(fault->text.find("has not come"), std::string::npos) << fault->text;
}

TEST(RankHub, OneThatComparesBytesGetsOn) {
  Job job({.patience = milliseconds(900), .silence = std::chrono::seconds(100)});
  RankRow ahead = row_of(0, RankState::reading);
  ahead.arrivals = 1;
  job.say(1, Kind::row, ahead);
  std::int64_t now = now_ns();
  for (std::uint64_t i = 1; i < 8; ++i) {
    RankRow row = row_of(2, RankState::reading);
    row.compared = i;
    job.say(2, Kind::row, row);
    std::this_thread::sleep_for(milliseconds(5));
    EXPECT_FALSE(job.hub->look(ahead, now += 500'000'000));
  }
}

TEST(RankHub, OneThatWasToldToEndIsNotLost) {
  Job job;
  job.say(1, Kind::told, row_of(1, RankState::ended), "told to end");
  const auto fault = job.look();
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->rank, 1U);
  EXPECT_FALSE(fault->lost) << "all may have been told, rank 0 last";
}

TEST(RankHub, AStrangerIsNotListenedTo) {
  Job job;
  Link stranger = *connect_to_hub(job.place.hub);
  RankMessage m;
  m.kind = Kind::lost;
  m.rank = 1;
  stranger.send(m);
  EXPECT_FALSE(job.look());
}

TEST(RankProcess, TellsTheTimeOfTheCpuThatItUsed) {
  auto rank = RankProcess::start([] {
    while (::clock() < CLOCKS_PER_SEC / 10) {
    }
    ::pause();
    return Exit::done;
  });
  ASSERT_TRUE(rank) << rank.error().message();
  for (int i = 0; i < 1000 && rank->cpu_ns() < 100'000'000; ++i) {
    ::usleep(10'000);
  }
  EXPECT_GE(rank->cpu_ns(), 100'000'000U);
  EXPECT_LT(rank->cpu_ns(), 10'000'000'000U);
  EXPECT_EQ(rank->ended(), std::nullopt);
  rank->kill();
  EXPECT_EQ(rank->cpu_ns(), 0U);
}

}  // namespace
}  // namespace blksweep
