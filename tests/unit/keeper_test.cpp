// Keepers: what is told of a rank, whatever ends it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string>
#include <thread>

#include "base/json.h"
#include "ranks/keeper.h"
#include "ranks/wire.h"
#include "support/rank_rows.h"

namespace blksweep {
namespace {

using std::chrono::milliseconds;
using support::row_of;

// keep_rank() in a process of its own: its exit status, and what it said on stdout.
struct Kept {
  int status = 0;
  std::string out, said;  // on stdout, on stderr
};
std::string read_all(int fd) {
  std::string all;
  char some[4096];
  for (ssize_t n = 0; (n = ::read(fd, some, sizeof some)) > 0;) {
    all.append(some, static_cast<std::size_t>(n));
  }
  ::close(fd);
  return all;
}
Kept kept(const RankBody& body, Nanos silence = std::chrono::seconds(5),
          Nanos patience = std::chrono::seconds(60)) {
  int ends[2], errors[2];
  EXPECT_EQ(::pipe(ends) + ::pipe(errors), 0);
  std::fflush(nullptr);  // what waits to be written would be written twice
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::dup2(errors[1], STDERR_FILENO);
    for (const int fd : {ends[0], ends[1], errors[0], errors[1]}) {
      ::close(fd);
    }
    const HubSettings hub{.patience = patience, .silence = silence};
    const Result<Exit> exit = keep_rank({.hub = hub, .json = true}, body);
    ::_exit(exit ? static_cast<int>(*exit) : 99);
  }
  ::close(ends[1]);
  ::close(errors[1]);
  Kept out{.out = read_all(ends[0]), .said = read_all(errors[0])};
  ::waitpid(pid, &out.status, 0);
  return out;
}

RankBody reading_then(std::uint64_t samples, Exit (*end)()) {
  return [samples, end](Board& board, const HubPlace& hub) {
    board.facts("{\"seed\":11}");
    RankRow row = row_of(0, RankState::reading);
    row.samples = samples;
    board.publish(row);
    board.place({0, 1, hub});
    return end();
  };
}

TEST(Keeper, WhatARankHadReadIsTheResultAlsoAfterSigkill) {
  const Kept told = kept(reading_then(123, [] {
    ::raise(SIGKILL);
    return Exit::done;
  }));
  EXPECT_EQ(WEXITSTATUS(told.status), static_cast<int>(Exit::failed));
  const Json doc = parse_json(told.out);
  ASSERT_TRUE(doc.is_object()) << told.out;
  EXPECT_EQ(doc["seed"], 11);
  EXPECT_EQ(doc["complete"], false);
  EXPECT_EQ(doc["rows"][0]["samples"], 123);
  EXPECT_EQ(doc["rows"][0]["state"], "lost");
  EXPECT_EQ(doc["fault"]["rank"], 0);
}

TEST(Keeper, ARankThatExitsBeforeItIsDoneIsLost) {
  const Kept told = kept(reading_then(5, [] { return Exit::usage; }));
  EXPECT_EQ(WEXITSTATUS(told.status), static_cast<int>(Exit::failed));
  EXPECT_NE(told.out.find("exited with status 2"), std::string::npos) << told.out;
}

TEST(Keeper, WhereTheHubIsSilentOrGoneItTellsItsOwnRow) {
  for (const bool silent : {true, false}) {
    HubPlace place;
    Fd listener = *listen_as_hub(place);
    if (!silent) {
      listener.reset();  // nobody is there
    }
    const auto body = [&](Board& board, const HubPlace&) {
      RankRow row = row_of(1, RankState::reading);
      row.samples = 9;
      board.publish(row);
      board.place({1, 2, place});
      std::this_thread::sleep_for(std::chrono::seconds(silent ? 100 : 0));
      ::raise(SIGKILL);
      return Exit::done;
    };
    const Kept told = kept(body, milliseconds(300));
    EXPECT_EQ(WEXITSTATUS(told.status), static_cast<int>(Exit::failed));
    const Json doc = parse_json(told.out);
    ASSERT_TRUE(doc.is_object()) << told.out;
    EXPECT_EQ(doc["rows"][0]["samples"], 9);
    EXPECT_EQ(doc["rows"][0]["rank"], 1);
    EXPECT_EQ(doc["fault"]["rank"], silent ? 0 : 1);
  }
}

// Open MPI's own start may crash, on crowded nodes: nothing is told of a rank, and the way out is.
TEST(Keeper, ARankThatEndsBeforeMpiRunsHasReadNothing) {
  const Kept told = kept([](Board&, const HubPlace&) {
    ::raise(SIGKILL);
    return Exit::done;
  });
  EXPECT_EQ(WEXITSTATUS(told.status), static_cast<int>(Exit::failed));
  EXPECT_EQ(told.out, "");
  EXPECT_NE(told.said.find("signal 9 (Killed) while MPI started"), std::string::npos) << told.said;
  EXPECT_NE(told.said.find("start the job again"), std::string::npos) << told.said;
}

TEST(Keeper, OtherwiseItSaysNothingAndExitsAsTheRank) {
  for (const Exit exit : {Exit::done, Exit::incomplete}) {
    const Kept told = kept([exit](Board& board, const HubPlace& hub) {
      board.place({0, 1, hub});
      board.publish(row_of(0, exit == Exit::done ? RankState::done : RankState::failed));
      return exit;
    });
    EXPECT_EQ(WEXITSTATUS(told.status), static_cast<int>(exit));
    EXPECT_EQ(told.out, "");
  }
}

// MPI ends together: in its end a rank may be killed, or wait for one that is.
TEST(Keeper, BehindTheResultNothingIsToldTwiceAndNothingWaitedForWithoutAnEnd) {
  for (const bool killed : {true, false}) {
    const auto body = [killed](Board& board, const HubPlace& hub) {
      board.place({0, 1, hub});
      board.publish(row_of(0, RankState::done));
      board.leave();
      if (killed) {
        ::raise(SIGKILL);
      }
      std::this_thread::sleep_for(std::chrono::seconds(100));
      return Exit::done;
    };
    const Kept told = kept(body, std::chrono::seconds(5), milliseconds(300));
    EXPECT_EQ(WEXITSTATUS(told.status), static_cast<int>(Exit::failed));
    EXPECT_EQ(told.out, "");
  }
}

TEST(Keeper, TheEndOfMpiMayTakeAWhile) {
  const Kept told = kept([](Board& board, const HubPlace& hub) {
    board.place({0, 1, hub});
    board.publish(row_of(0, RankState::done));
    board.leave();
    std::this_thread::sleep_for(milliseconds(400));  // a few looks of the keeper
    return Exit::done;
  });
  EXPECT_EQ(WEXITSTATUS(told.status), static_cast<int>(Exit::done));
  EXPECT_EQ(told.said, "");
}

// mpirun ends all ranks once one has ended with an error, also after the result is told.
TEST(Keeper, ToldToEndBehindTheResultItSaysNothingMore) {
  const Kept told = kept([](Board& board, const HubPlace& hub) {
    board.place({0, 1, hub});
    board.publish(row_of(0, RankState::failed));
    ::kill(::getppid(), SIGTERM);
    std::this_thread::sleep_for(milliseconds(300));
    return Exit::incomplete;
  });
  EXPECT_EQ(WEXITSTATUS(told.status), static_cast<int>(Exit::incomplete));
  EXPECT_EQ(told.out, "");
}

}  // namespace
}  // namespace blksweep
