#include "trace/trace_stat.h"

#include <algorithm>
#include <cmath>

namespace blksweep {
namespace {

// Of a request of more than this, only its first blocks count: absurd sizes cost no time.
constexpr std::uint64_t kMostBlocks = kStatMost / kStatBlock;

bool moves_bytes(TraceOp op) { return op == TraceOp::read || op == TraceOp::write; }

std::uint64_t moved(const TraceRecord& r) {
  return r.returned == kNotTold ? r.bytes : static_cast<std::uint64_t>(r.returned);
}

bool is_empty(const TraceRecord& r) { return moves_bytes(r.op) && moved(r) == 0; }

}  // namespace

RateSeries::Step& RateSeries::step_at(std::int64_t at_ns) {
  while (static_cast<std::uint64_t>(at_ns / step_ns_) >= kMost) {
    for (std::size_t i = 0; i < steps_.size(); i += 2) {
      Step sum = steps_[i];
      if (i + 1 < steps_.size()) {
        sum.requests += steps_[i + 1].requests;
        sum.bytes += steps_[i + 1].bytes;
        sum.in_flight_ns += steps_[i + 1].in_flight_ns;
      }
      steps_[i / 2] = sum;
    }
    steps_.resize((steps_.size() + 1) / 2);
    step_ns_ *= 2;
  }
  const auto at = static_cast<std::size_t>(at_ns / step_ns_);
  steps_.resize(std::max(steps_.size(), at + 1));
  return steps_[at];
}

void RateSeries::add(std::int64_t at_ns, std::uint64_t bytes) {
  Step& step = step_at(at_ns);
  ++step.requests;
  step.bytes += bytes;
}

void RateSeries::add_depth(std::int64_t begin, std::int64_t end, std::size_t depth) {
  step_at(end);  // so that the step is long enough
  while (begin < end) {
    const std::int64_t until = std::min(end, (begin / step_ns_ + 1) * step_ns_);
    step_at(begin).in_flight_ns += static_cast<double>(until - begin) * static_cast<double>(depth);
    begin = until;
  }
}

void TraceStat::add_depth(const TraceRecord& r) {
  const auto pass_to = [this](std::int64_t at) {
    rate_.add_depth(depth_ns_, at, completions_.size());
    depth_ns_ = std::max(depth_ns_, at);
  };
  for (; !completions_.empty() && completions_.top() <= r.time_ns; completions_.pop()) {
    pass_to(completions_.top());
  }
  pass_to(r.time_ns);
  if (r.latency_ns == kNotTold) {
    ++untold_;
    return;
  }
  if (!is_empty(r)) {
    latencies_.add(static_cast<std::uint64_t>(r.latency_ns));
  }
  busy_ns_ += static_cast<double>(r.latency_ns);
  const std::int64_t room = INT64_MAX - r.time_ns;
  const std::int64_t completed = r.time_ns + std::min(r.latency_ns, room);
  completions_.push(completed);
  completed_ns_ = std::max(completed_ns_, completed);
  deepest_ = std::max<std::uint64_t>(deepest_, completions_.size());
}

void TraceStat::add_blocks(const TraceRecord& r) {
  const std::uint64_t length = moved(r);
  // An odd multiplier spreads places over all keys, so that blocks of two do not meet.
  const std::uint64_t place = (std::uint64_t{r.place} + 1) * 0x9E3779B97F4A7C15ULL;
  const std::uint64_t first = r.offset / kStatBlock;
  const std::uint64_t blocks = (r.offset % kStatBlock + length - 1) / kStatBlock + 1;
  for (std::uint64_t b = 0; b < std::min(blocks, kMostBlocks); ++b) {
    blocks_.reference(first + b + place);
  }
  cut_ += blocks > kMostBlocks ? 1U : 0U;
  const auto [end, first_access] = ends_.try_emplace(r.place, 0);
  sequential_ += !first_access && end->second == r.offset ? 1U : 0U;
  end->second = r.offset + length;
  ++accesses_;
}

void TraceStat::add(const TraceRecord& r) {
  if (requests_ > 0) {  // Welford's
    const auto gap = static_cast<double>(r.time_ns - last_ns_);
    const double difference = gap - gap_mean_;
    gap_mean_ += difference / static_cast<double>(requests_);
    gap_m2_ += difference * (gap - gap_mean_);
  }
  ++requests_;
  if (r.thread != 0) {
    threads_.insert(r.thread);
  }
  last_ns_ = r.time_ns;
  const auto op = static_cast<std::size_t>(r.op);
  ++counts_[op];
  bytes_[op] += moved(r);
  rate_.add(r.time_ns, moves_bytes(r.op) ? moved(r) : 0);
  add_depth(r);
  if (is_empty(r)) {
    ++empty_;
  } else if (moves_bytes(r.op)) {
    sizes_.add(moved(r));
    add_blocks(r);
  }
}

std::optional<double> TraceStat::gap_variation() const {
  if (requests_ < 3 || gap_mean_ <= 0) {
    return std::nullopt;
  }
  return std::sqrt(gap_m2_ / static_cast<double>(requests_ - 1)) / gap_mean_;
}

std::optional<double> TraceStat::mean_depth() const {
  if (untold_ > 0 || completed_ns_ == 0) {
    return std::nullopt;
  }
  return busy_ns_ / static_cast<double>(completed_ns_);
}

std::optional<std::uint64_t> TraceStat::greatest_depth() const {
  return untold_ > 0 || requests_ == 0 ? std::nullopt : std::optional(deepest_);
}

std::optional<double> TraceStat::sequential() const {
  return accesses_ == 0
             ? std::nullopt
             : std::optional(static_cast<double>(sequential_) / static_cast<double>(accesses_));
}

}  // namespace blksweep
