#include "replay/orders.h"

#include <limits>
#include <unordered_map>

namespace blksweep {

RequestOrder::Next TraceOrder::next(ReplayRequest& request) {
  if (at_ == chunk_.size()) {
    at_ = 0;
    failed_ = feed_.take(chunk_);
    if (!failed_ || chunk_.empty()) {
      return Next::end;
    }
  }
  request = chunk_[at_++];
  request.due_ns = request.recorded_ns;
  return Next::request;
}

Result<DependentOrder> DependentOrder::gather(Feed& feed, double speed,
                                              const std::atomic<bool>& stop) {
  DependentOrder order;
  Feed::Chunk chunk;
  for (;;) {
    BLKSWEEP_CHECK(feed.take(chunk));
    if (chunk.empty()) {
      break;
    }
    if (stop.load(std::memory_order_relaxed)) {
      return fail("interrupted", Exit::interrupted);
    }
    order.requests_.insert(order.requests_.end(), chunk.begin(), chunk.end());
  }
  if (order.requests_.size() >= std::numeric_limits<std::uint32_t>::max()) {
    return fail("more than 2^32 requests cannot be replayed with --timing dependent");
  }
  order.relate(speed);
  return order;
}

void DependentOrder::relate(double speed) {
  struct Thread {
    std::priority_queue<Due, std::vector<Due>, std::greater<>> in_flight;
    std::uint32_t last = kNobody;  // completed last
    std::int64_t completed_ns = 0;
  };
  std::unordered_map<std::uint64_t, Thread> threads;
  think_ns_.resize(requests_.size());
  follower_.assign(requests_.size(), kNobody);
  next_.assign(requests_.size(), kNobody);
  for (std::uint32_t i = 0; i < requests_.size(); ++i) {
    ReplayRequest& r = requests_[i];
    Thread& t = threads[r.thread];
    for (; !t.in_flight.empty() && t.in_flight.top().at <= r.recorded_ns; t.in_flight.pop()) {
      t.last = t.in_flight.top().request;
      t.completed_ns = t.in_flight.top().at;
    }
    t.in_flight.push({r.recorded_ns + r.latency_ns, i});
    think_ns_[i] =
        static_cast<std::int64_t>(static_cast<double>(r.recorded_ns - t.completed_ns) / speed);
    if (t.last == kNobody) {
      due_.push({think_ns_[i], i});
    } else {
      next_[i] = std::exchange(follower_[t.last], i);
    }
  }
}

RequestOrder::Next DependentOrder::next(ReplayRequest& request) {
  if (due_.empty()) {
    return Next::end;  // or something in flight has followers: the loop asks again
  }
  request = requests_[due_.top().request];
  request.due_ns = due_.top().at;
  due_.pop();
  return Next::request;
}

bool DependentOrder::earlier(ReplayRequest& held) {
  if (due_.empty() || due_.top().at >= held.due_ns) {
    return false;
  }
  const Due back{held.due_ns, static_cast<std::uint32_t>(held.number)};
  next(held);
  due_.push(back);
  return true;
}

void DependentOrder::completed(const ReplayRequest& request, std::int64_t now) {
  for (std::uint32_t i = follower_[request.number]; i != kNobody; i = next_[i]) {
    due_.push({now + think_ns_[i], i});
  }
}

}  // namespace blksweep
