// Requests that wait for their completion: a block trace tells both in lines of their own.
//
// Records are given in the order of issue; one whose completion never comes is given without a
// latency, at the end or when kMost later ones wait behind it.
// Memory:  kMost records.
// Threads: one owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/result.h"
#include "trace/trace_record.h"

namespace blksweep {

class Outstanding {
 public:
  static constexpr std::size_t kMost = std::size_t{1} << 16;

  using Take = std::function<Result<>(const TraceRecord&)>;
  explicit Outstanding(Take take) : take_(std::move(take)) {}

  // The record's time is that of its issue.
  Result<> issue(const TraceRecord& record);
  // `event` is at the time of the completion. It is of the oldest request of that place and offset
  // that waits; none: it is not counted. What has no bytes (a flush) lies nowhere, and is not the
  // request at 0.
  Result<> complete(const TraceRecord& event);
  // The youngest one of that place and offset was not carried out: it is not given.
  Result<> requeue(const TraceRecord& event);
  Result<> give_all();

 private:
  struct Waiting {
    TraceRecord record;
    bool complete = false, requeued = false;
  };
  Result<> give_front();
  Result<> give_complete();
  // A request that waits where `event` is, by its number; nullopt: none does.
  std::optional<std::uint64_t> waiting_at(const TraceRecord& event, bool oldest);

  Take take_;
  std::deque<Waiting> waiting_;
  std::uint64_t given_ = 0;  // the number of waiting_.front()
  std::unordered_multimap<std::uint64_t, std::uint64_t> by_address_;  // hash to number
};

}  // namespace blksweep
