// Hub: rank 0's keeper hears from the keepers of all ranks, and ends all when one is lost.
//
// Lost:      a keeper says that its rank has ended; its link closes before the rank is done; it is
//            silent for HubSettings::silence; others wait for its rank, and that one has not got
//            on for so long (patience): of several the one that is least far, and of these one
//            whose process does nothing before those that look again in a barrier. So where all
//            are equally far (in MPI's start, or one has come to the barrier and is stopped in
//            it). Time in which the hub itself did not run does not count.
// Errors:    a fault is the answer of look(); strangers who connect are not listened to.
// Threads:   one owner, which polls the descriptors.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "ranks/row.h"
#include "ranks/wire.h"

namespace blksweep {

struct HubSettings {
  Nanos patience{std::chrono::seconds(60)};
  Nanos silence{std::chrono::seconds(5)};
};

class Hub {
 public:
  Hub(Fd listener, const RankPlace& place, const HubSettings& settings);

  void add_to_poll(std::vector<int>& fds) const;
  // Takes what has come; the first rank that is lost, or (not lost) whose keeper was told to end.
  std::optional<RankFault> look(const RankRow& own, std::int64_t now);
  // Of whom nothing was heard for longer than chance explains, where somebody else ends the job.
  std::optional<RankFault> suspect(std::int64_t now) const { return silent(now, kSuspicion); }
  // Tells all but the one that is lost to end theirs, and waits for their last rows, so long at
  // most.
  void end_all(const RankFault& fault, Nanos patience);
  void say_bye();
  // By rank; of one that never came the rank only.
  const std::vector<RankRow>& rows() const { return rows_; }

 private:
  static constexpr Nanos kSuspicion{std::chrono::milliseconds(1500)};
  struct Peer {
    Link link;
    bool known = false;  // it has said who it is
    bool ended = false;  // its last row is here
    std::uint32_t rank = 0;
    std::int64_t heard = 0;
  };
  void accept_all(std::int64_t now);
  std::optional<RankFault> hear(Peer& peer, std::int64_t now);
  std::optional<RankFault> take(Peer& peer, const RankMessage& message);
  std::optional<RankFault> silent(std::int64_t now, Nanos limit) const;
  std::optional<RankFault> late(std::int64_t now);
  std::uint32_t slowest(std::int64_t now) const;
  bool all_wait(std::int64_t now) const;
  bool all_ended() const;
  RankMessage message(RankMessage::Kind kind, const std::string& text) const;

  Fd listener_;
  const RankPlace place_;
  const HubSettings settings_;
  std::vector<RankRow> rows_;
  std::vector<Peer> peers_;
  struct Pace {
    std::uint64_t mark = 0;  // changes as the rank gets on
    std::int64_t moved = 0;  // when it did last
    std::int64_t since = 0;  // it was that, or nobody waited for it
    std::uint64_t cpu = 0;
    std::int64_t stirred = 0;  // its process had a CPU
  };
  std::vector<Pace> paces_;  // by rank
  std::int64_t looked_ = 0;  // when look() was called last
};

}  // namespace blksweep
