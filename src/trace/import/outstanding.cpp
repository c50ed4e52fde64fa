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
  return take_(front.record);
}

Result<> Outstanding::issue(const TraceRecord& record) {
  if (waiting_.size() == kMost) {
    BLKSWEEP_CHECK(give_front());
  }
  by_address_.emplace(key_of(record.place, record.offset), given_ + waiting_.size());
  waiting_.push_back({record, false});
  return {};
}

Result<> Outstanding::complete(std::uint32_t place, std::uint64_t offset, std::int64_t time_ns) {
  const auto [begin, end] = by_address_.equal_range(key_of(place, offset));
  auto oldest = end;
  for (auto it = begin; it != end; ++it) {
    const TraceRecord& r = waiting_[it->second - given_].record;
    if (r.place == place && r.offset == offset && (oldest == end || it->second < oldest->second)) {
      oldest = it;
    }
  }
  if (oldest == end) {
    return {};
  }
  Waiting& done = waiting_[oldest->second - given_];
  by_address_.erase(oldest);
  done.complete = true;
  if (time_ns >= done.record.time_ns) {
    done.record.latency_ns = time_ns - done.record.time_ns;
  }
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
