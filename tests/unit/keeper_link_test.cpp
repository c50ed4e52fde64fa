// What a keeper says to the hub, which is in the keeper of rank 0, and what it does as it is told.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "ranks/keeper.h"
#include "ranks/wire.h"
#include "support/rank_rows.h"

namespace blksweep {
namespace {

using Kind = RankMessage::Kind;
using std::chrono::milliseconds;

// Hears one keeper: says `heard` to each row, `end` to the third one where it ends all, and `bye`
// to the last word.
class HubOfTest {
 public:
  explicit HubOfTest(bool ends_all) : ends_all_(ends_all), listener_(*listen_as_hub(place_)) {
    place_.token = {3, 4};
    thread_ = std::jthread([this](const std::stop_token& stop) { hear(stop); });
  }
  const HubPlace& place() const { return place_; }
  const std::vector<RankMessage>& heard() {  // afterwards
    thread_ = {};
    return heard_;
  }

 private:
  void hear(const std::stop_token& stop) {
    std::optional<Link> link;
    for (; !stop.stop_requested(); std::this_thread::sleep_for(milliseconds(5))) {
      if (!link) {
        link = accept_link(listener_.get());
      } else if (const auto m = link->receive()) {
        heard_.push_back(*m);
        link->send(answer(m->kind));
      }
    }
  }
  RankMessage answer(Kind kind) const {
    RankMessage m;
    m.token = place_.token;
    const bool third = ends_all_ && heard_.size() == 3;
    m.kind = kind != Kind::row ? Kind::bye : third ? Kind::end : Kind::heard;
    return m;
  }

  bool ends_all_;
  HubPlace place_;
  Fd listener_;
  std::vector<RankMessage> heard_;
  std::jthread thread_;
};

// The exit status of the keeper of a rank 1 that has read nine samples and then does `next`.
int kept_of(const HubPlace& place, const std::function<void()>& next) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    const auto body = [&](Board& board, const HubPlace&) {
      RankRow row = support::row_of(1, RankState::reading);
      row.samples = 9;
      board.publish(row);
      board.place({1, 2, place});
      next();
      return Exit::done;
    };
    const Result<Exit> exit = keep_rank({.hub = {}, .json = true}, body);
    ::_exit(exit ? static_cast<int>(*exit) : 99);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WEXITSTATUS(status);
}

TEST(KeeperLink, TheHubHearsWhoItIsHowFarItIsAndHowItEnded) {
  HubOfTest hub(false);
  const int status = kept_of(hub.place(), [] {
    std::this_thread::sleep_for(milliseconds(500));
    ::raise(SIGKILL);
  });
  EXPECT_EQ(status, static_cast<int>(Exit::failed));
  const auto& heard = hub.heard();
  ASSERT_GE(heard.size(), 3U);
  for (const RankMessage& m : heard) {
    EXPECT_EQ(m.token, hub.place().token);
    EXPECT_EQ(m.rank, 1U);
    EXPECT_EQ(m.row.samples, 9U);
    EXPECT_EQ(m.kind, &m == &heard.back() ? Kind::lost : Kind::row);
  }
  const std::string last = heard.back().text.data();
  EXPECT_NE(last.find("signal 9 (Killed)"), std::string::npos) << last;
}

TEST(KeeperLink, ToldToEndItEndsItsRankAndHandsOverItsRow) {
  HubOfTest hub(true);
  const int status =
      kept_of(hub.place(), [] { std::this_thread::sleep_for(std::chrono::hours(1)); });
  EXPECT_EQ(status, static_cast<int>(Exit::incomplete));
  const auto& heard = hub.heard();
  ASSERT_GE(heard.size(), 4U);
  EXPECT_EQ(heard.back().kind, Kind::last);
  EXPECT_EQ(heard.back().row.samples, 9U);
}

// Rank 0's keeper, told by another that its rank is lost: who lost it may go once all is stored.
TEST(KeeperLink, TheHubSaysByeWhenTheResultIsTold) {
  std::array<int, 2> ends{}, out{};
  ASSERT_EQ(::pipe(ends.data()) + ::pipe(out.data()), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(out[1], STDOUT_FILENO);
    const auto body = [&](Board& board, const HubPlace& hub) {
      board.publish(support::row_of(0, RankState::reading));
      board.place({0, 2, hub});
      [[maybe_unused]] const ssize_t n = ::write(ends[1], &hub, sizeof(hub));
      std::this_thread::sleep_for(std::chrono::hours(1));
      return Exit::done;
    };
    const Result<Exit> exit = keep_rank({.hub = {}, .json = true}, body);
    ::_exit(exit ? static_cast<int>(*exit) : 99);
  }
  HubPlace hub;
  ASSERT_EQ(::read(ends[0], &hub, sizeof(hub)), static_cast<ssize_t>(sizeof(hub)));
  Result<Link> link = connect_to_hub(hub);
  ASSERT_TRUE(link) << link.error().message();
  RankMessage m;
  m.token = hub.token;
  m.rank = 1;
  m.row = support::row_of(1, RankState::reading);
  for (const Kind kind : {Kind::row, Kind::lost}) {
    m.kind = kind;
    EXPECT_TRUE(link->send(m));
  }
  std::vector<Kind> said;
  while (!link->closed() && (said.empty() || said.back() != Kind::bye)) {
    if (const auto got = link->receive()) {
      said.push_back(got->kind);
    }
    std::this_thread::sleep_for(milliseconds(5));
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), static_cast<int>(Exit::incomplete));
  ASSERT_FALSE(said.empty());
  EXPECT_EQ(said.back(), Kind::bye);
  for (const int fd : {ends[0], ends[1], out[0], out[1]}) {
    ::close(fd);
  }
}

}  // namespace
}  // namespace blksweep
