#include "store/export/batch_lanes.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include "stats/account.h"

namespace blksweep {
namespace {

using SpanOf = std::function<std::optional<TimeSpan>(const BatchTimes&)>;

// Between a stage and the next one that the batch passed.
std::optional<TimeSpan> waiting_after(std::size_t stage, const BatchTimes& b) {
  if (!b.stages[stage]) {
    return std::nullopt;
  }
  std::size_t next = stage + 1;
  while (next < kLanes && !b.stages[next]) {
    ++next;
  }
  return TimeSpan{b.stages[stage]->end, next < kLanes ? b.stages[next]->begin : b.consumed};
}

Lane make_lane(const RunRecord& run, std::string_view name, const SpanOf& span_of) {
  Lane lane{std::string(name), {}, 0};
  for (std::uint32_t i = 0; i < run.batches.size(); ++i) {
    const std::optional<TimeSpan> span = span_of(run.batches[i].times);
    if (span && span->end >= span->begin) {
      lane.spans.push_back({i, span->begin - run.begin_ns, span->end - run.begin_ns, 0});
    }
  }
  std::ranges::stable_sort(lane.spans, {}, &LaneSpan::begin_ns);
  lane.rows = assign_rows(lane.spans);
  return lane;
}

}  // namespace

std::uint32_t assign_rows(std::vector<LaneSpan>& spans) {
  std::vector<const LaneSpan*> last;  // of each row
  for (LaneSpan& span : spans) {
    const auto free = std::ranges::find_if(last, [&](const LaneSpan* before) {
      return before->end_ns <= span.begin_ns && before->begin_ns < span.begin_ns;
    });
    span.row = static_cast<std::uint32_t>(free - last.begin());
    if (free == last.end()) {
      last.push_back(&span);
    } else {
      *free = &span;
    }
  }
  return static_cast<std::uint32_t>(last.size());
}

std::vector<Lane> batch_lanes(const RunRecord& run) {
  std::vector<Lane> lanes;
  for (std::size_t s = 0; s < kLanes; ++s) {
    lanes.push_back(
        make_lane(run, kStageNames[s], [s](const BatchTimes& b) { return b.stages[s]; }));
    if (s + 1 < kLanes) {
      lanes.push_back(make_lane(run, to_string(kLaneWords[s].after),
                                [s](const BatchTimes& b) { return waiting_after(s, b); }));
    }
  }
  std::erase_if(lanes, [](const Lane& lane) { return lane.spans.empty(); });
  return lanes;
}

Steps window_fill(const RunRecord& run) {
  std::map<std::int64_t, std::int64_t> changes{{0, 0}};
  for (const BatchRecord& b : run.batches) {
    changes[b.times[Stage::read]->end - run.begin_ns] += static_cast<std::int64_t>(b.bytes);
    changes[b.times.consumed - run.begin_ns] -= static_cast<std::int64_t>(b.bytes);
  }
  Steps steps;
  std::int64_t bytes = 0;
  for (const auto& [at, change] : changes) {
    bytes += change;
    if (steps.empty() || change != 0) {
      steps.emplace_back(at, static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 0)));
    }
  }
  return steps;
}

}  // namespace blksweep
