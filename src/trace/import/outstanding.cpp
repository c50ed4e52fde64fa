#include "trace/import/outstanding.h"

namespace blksweep {
namespace {

std::uint64_t key_of(const TraceRecord& r) {
  return (r.offset ^ (std::uint64_t{r.place} << 40)) * 0x9E3779B97F4A7C15ULL;
}

bool at_one_place(const TraceRecord& a, const TraceRecord& b) {
  return a.place == b.place && a.offset == b.offset && (a.bytes == 0) == (b.bytes == 0);
}

}  // namespace

Result<> Outstanding::give_front() {
  const Waiting front = waiting_.front();
  if (!front.complete) {
    const auto [begin, end] = by_address_.equal_range(key_of(front.record));
    for (auto it = begin; it != end; ++it) {
      if (it->second == given_) {
        by_address_.erase(it);
        break;
      }
    }
  }
  waiting_.pop_front();
  ++given_;
  return front.requeued ? Result<>() : take_(front.record);
}

Result<> Outstanding::issue(const TraceRecord& record) {
  if (waiting_.size() == kMost) {
    BLKSWEEP_CHECK(give_front());
  }
  by_address_.emplace(key_of(record), given_ + waiting_.size());
  waiting_.push_back({record, false});
  return {};
}

// It waits no longer.
std::optional<std::uint64_t> Outstanding::waiting_at(const TraceRecord& event, bool oldest) {
  const auto [begin, end] = by_address_.equal_range(key_of(event));
  auto found = end;
  for (auto it = begin; it != end; ++it) {
    if (at_one_place(waiting_[it->second - given_].record, event) &&
        (found == end || (it->second < found->second) == oldest)) {
      found = it;
    }
  }
  if (found == end) {
    return std::nullopt;
  }
  const std::uint64_t number = found->second;
  by_address_.erase(found);
  return number;
}

Result<> Outstanding::complete(const TraceRecord& event) {
  const auto number = waiting_at(event, true);
  if (!number) {
    return {};
  }
  Waiting& done = waiting_[*number - given_];
  done.complete = true;
  if (event.time_ns >= done.record.time_ns) {
    done.record.latency_ns = event.time_ns - done.record.time_ns;
  }
  return give_complete();
}

Result<> Outstanding::requeue(const TraceRecord& event) {
  if (const auto number = waiting_at(event, false)) {
    waiting_[*number - given_].complete = waiting_[*number - given_].requeued = true;
  }
  return give_complete();
}

Result<> Outstanding::give_complete() {
  while (!waiting_.empty() && waiting_.front().complete) {
    BLKSWEEP_CHECK(give_front());
  }
  return {};
}

Result<> Outstanding::give_all() {
  while (!waiting_.empty()) {
    BLKSWEEP_CHECK(give_front());
  }
  return {};
}

}  // namespace blksweep
