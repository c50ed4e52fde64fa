#include "plan/order_elevator.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace blksweep {
namespace {

// Chunks that wait, by place and by age.
class Waiting {
 public:
  explicit Waiting(std::uint32_t chunks) : since_(chunks), calls_(chunks) {
    std::iota(calls_.begin(), calls_.end(), 0U);
  }

  void shuffle_calls(Rng& rng) { shuffle(std::span(calls_), rng); }

  // Fills up to `most`, as of read number `now`.
  void call(std::uint32_t most, std::uint32_t now) {
    while (next_ < calls_.size() && ahead_.size() < most) {
      since_[calls_[next_]] = now;
      ahead_.insert(calls_[next_++]);
    }
  }

  // The one that waited too long, else the nearest ahead of the head.
  std::uint32_t take(std::uint32_t head, std::uint32_t now, std::uint64_t longest) {
    while (!ahead_.contains(calls_[oldest_])) {
      ++oldest_;
    }
    const std::uint32_t oldest = calls_[oldest_];
    const auto nearest = ahead_.lower_bound(head);
    const std::uint32_t chosen = now - since_[oldest] >= longest ? oldest
                                 : nearest == ahead_.end()       ? *ahead_.begin()
                                                                 : *nearest;
    ahead_.erase(chosen);
    return chosen;
  }

 private:
  std::set<std::uint32_t> ahead_;
  std::vector<std::uint32_t> since_;  // of a chunk: the read before which it came to wait
  std::vector<std::uint32_t> calls_;  // in which order they come
  std::size_t next_ = 0, oldest_ = 0;
};

}  // namespace

ElevatorRide elevator_ride(std::size_t samples, Bytes whole, const OrderSettings& settings) {
  const std::uint64_t n = std::max<std::uint64_t>(1, samples);
  const std::uint64_t mean = std::max<std::uint64_t>(1, whole.n / n);
  const std::uint64_t per_chunk = std::clamp<std::uint64_t>(settings.chunk.n / mean, 1, n);
  const std::uint64_t lookahead =
      std::clamp<std::uint64_t>(settings.lookahead.n / (per_chunk * mean), 1, n);
  return {static_cast<std::uint32_t>(per_chunk), static_cast<std::uint32_t>(lookahead)};
}

std::vector<std::uint32_t> ride_elevator(std::uint32_t chunks, std::uint32_t lookahead, Rng& rng) {
  Waiting waiting(chunks);
  waiting.shuffle_calls(rng);
  std::vector<std::uint32_t> out;
  out.reserve(chunks);
  for (std::uint32_t head = 0; out.size() < chunks;) {
    const auto now = static_cast<std::uint32_t>(out.size());
    waiting.call(lookahead, now);
    out.push_back(waiting.take(head, now, std::uint64_t{kLongestWait} * lookahead));
    head = out.back() + 1;
  }
  return out;
}

void append_elevator(std::span<const std::uint32_t> ring, ElevatorRide ride, Rng& rng,
                     std::vector<std::uint32_t>& out) {
  if (ring.empty()) {
    return;
  }
  const std::size_t n = ring.size();
  const std::size_t first = rng.below(n);
  const auto chunks = static_cast<std::uint32_t>((n + ride.per_chunk - 1) / ride.per_chunk);
  for (const std::uint32_t chunk : ride_elevator(chunks, ride.lookahead, rng)) {
    const std::size_t begin = std::size_t{chunk} * ride.per_chunk;
    for (std::size_t i = begin; i < std::min(n, begin + ride.per_chunk); ++i) {
      out.push_back(ring[(first + i) % n]);
    }
  }
}

}  // namespace blksweep
