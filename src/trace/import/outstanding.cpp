#include "trace/import/outstanding.h"

namespace blksweep {
namespace {

std::uint64_t key_of(std::uint32_t place, std::uint64_t offset) {
  return (offset ^ (std::uint64_t{place} << 40)) * 0x9E3779B97F4A7C15ULL;
}

}  // namespace

Result<> Outstanding::give_front() {
  const Waiting front = waiting_.front();
  if (!front.complete) {
    const auto [begin, end] =
        by_address_.equal_range(key_of(front.record.place, front.record.offset));
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
  by_address_.emplace(key_of(record.place, record.offset), given_ + waiting_.size());
  waiting_.push_back({record, false});
  return {};
}

// It waits no longer.
std::optional<std::uint64_t> Outstanding::waiting_at(std::uint32_t place, std::uint64_t offset,
                                                     bool oldest) {
  const auto [begin, end] = by_address_.equal_range(key_of(place, offset));
  auto found = end;
  for (auto it = begin; it != end; ++it) {
    const TraceRecord& r = waiting_[it->second - given_].record;
    if (r.place == place && r.offset == offset &&
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

Result<> Outstanding::complete(std::uint32_t place, std::uint64_t offset, std::int64_t time_ns) {
  const auto number = waiting_at(place, offset, true);
  if (!number) {
    return {};
  }
  Waiting& done = waiting_[*number - given_];
  done.complete = true;
  if (time_ns >= done.record.time_ns) {
    done.record.latency_ns = time_ns - done.record.time_ns;
  }
  return give_complete();
}

Result<> Outstanding::requeue(std::uint32_t place, std::uint64_t offset) {
  if (const auto number = waiting_at(place, offset, false)) {
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
