// The orders of a replay: as the trace has it, or each recorded thread at its own pace.
//
// TraceOrder:     one after another; due at their recorded times.
// DependentOrder: a request follows the one of its thread that had completed last when it was
//                 recorded, after the time that the thread took between them ("think time"); one
//                 that follows none is due at its recorded time. Source: as in Haghdoost et al.,
//                 "hfplayer", FAST 2017, with completions of the trace for what depends on what.
// Memory:         DependentOrder holds all requests, 80 bytes each.
// Threads:        one owner.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "replay/feed.h"
#include "replay/request.h"

namespace blksweep {

class TraceOrder final : public RequestOrder {
 public:
  explicit TraceOrder(Feed& feed) : feed_(feed) {}
  Next next(ReplayRequest& request) override;
  // Of the trace's reader; a replay that ends with one is not whole.
  const Result<>& failed() const { return failed_; }

 private:
  Feed& feed_;
  Feed::Chunk chunk_;
  std::size_t at_ = 0;
  Result<> failed_;
};

class DependentOrder final : public RequestOrder {
 public:
  // REQUIRES: all requests tell thread and latency. `speed` divides think times.
  static Result<DependentOrder> gather(Feed& feed, double speed, const std::atomic<bool>& stop);

  Next next(ReplayRequest& request) override;
  bool earlier(ReplayRequest& held) override;
  void completed(const ReplayRequest& request, std::int64_t now) override;
  std::size_t requests() const { return requests_.size(); }

 private:
  static constexpr std::uint32_t kNobody = 0xFFFFFFFF;
  struct Due {
    std::int64_t at;
    std::uint32_t request;
    bool operator>(const Due& o) const { return at != o.at ? at > o.at : request > o.request; }
  };
  void relate(double speed);

  std::vector<ReplayRequest> requests_;         // by number
  std::vector<std::int64_t> think_ns_;          // by request
  std::vector<std::uint32_t> follower_, next_;  // first that follows it; next that follows the same
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
};

}  // namespace blksweep
