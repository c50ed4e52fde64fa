#include "model/simulate.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "base/fifo.h"

namespace blksweep {
namespace {

class ClosedLoop {
 public:
  ClosedLoop(DiskModel& model, std::span<const DiskRequest> requests, std::int64_t host_ns)
      : model_(model), requests_(requests), host_ns_(host_ns), begun_(requests.size()) {}

  QueueResult run(std::uint32_t depth) {
    for (std::uint32_t i = 0; i < depth; ++i) {
      submit_at_.push(0);
    }
    while (submitted_ < requests_.size() || in_flight_ > 0) {
      step();
    }
    return result_;
  }

 private:
  // The next submission or the next completion, whichever comes first.
  void step() {
    const std::optional<std::int64_t> done = model_.next();
    const bool more = submitted_ < requests_.size() && !submit_at_.empty();
    if (more && (!done || submit_at_.front() <= *done)) {
      const std::int64_t now = submit_at_.pop();
      begun_[submitted_] = now;
      model_.arrive(now, submitted_, requests_[submitted_]);
      ++submitted_;
      ++in_flight_;
    } else if (done) {
      model_.advance(*done, done_);
      std::ranges::for_each(done_, [this](const DiskCompletion& c) { complete(c); });
      done_.clear();
    }
  }

  void complete(const DiskCompletion& c) {
    --in_flight_;
    result_.wall_ns = std::max(result_.wall_ns, c.at_ns);
    result_.bytes += requests_[c.tag].bytes;
    result_.latency.add(static_cast<std::uint64_t>(c.at_ns - begun_[c.tag]));
    submit_at_.push(c.at_ns + host_ns_);
  }

  DiskModel& model_;
  std::span<const DiskRequest> requests_;
  std::int64_t host_ns_;
  std::vector<std::int64_t> begun_;
  Fifo<std::int64_t> submit_at_;  // ascending: completions come in the order of time
  std::vector<DiskCompletion> done_;
  std::size_t submitted_ = 0, in_flight_ = 0;
  QueueResult result_;
};

}  // namespace

QueueResult simulate_queue(DiskModel& model, std::span<const DiskRequest> requests,
                           std::uint32_t depth, std::int64_t host_ns) {
  return ClosedLoop(model, requests, host_ns).run(std::max(depth, 1U));
}

}  // namespace blksweep
