#include "store/batch_lanes.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "store/batch_spans.h"

namespace blksweep {
namespace {

using Span = std::optional<TimeSpan>;

struct Stage {
  const char* name;
  Span (*of)(const BatchSpans&);
};

// Where a batch goes after waiting: to the next stage that the run has.
std::int64_t leaves_accelerators_memory(const BatchSpans& b) {
  return b.compute ? b.compute->begin : b.consumed;
}
std::int64_t leaves_decoded(const BatchSpans& b) {
  return b.copy ? b.copy->begin : leaves_accelerators_memory(b);
}
std::int64_t leaves_window(const BatchSpans& b) {
  return b.decode ? b.decode->begin : leaves_decoded(b);
}

constexpr std::array<Stage, 7> kStages{
    {{"read", [](const BatchSpans& b) { return Span(b.read); }},
     {"window",
      [](const BatchSpans& b) {
        return Span({b.read.end, leaves_window(b)});
      }},
     {"decode", [](const BatchSpans& b) { return b.decode; }},
     {"decoded",
      [](const BatchSpans& b) {
        return b.decode ? Span({b.decode->end, leaves_decoded(b)}) : std::nullopt;
      }},
     {"copy", [](const BatchSpans& b) { return b.copy; }},
     {"staged",
      [](const BatchSpans& b) {
        return b.copy ? Span({b.copy->end, leaves_accelerators_memory(b)}) : std::nullopt;
      }},
     {"compute", [](const BatchSpans& b) { return b.compute; }}}};

Lane make_lane(const RunRecord& run, const Stage& stage) {
  Lane lane{stage.name, {}, 0};
  for (std::uint32_t i = 0; i < run.batches.size(); ++i) {
    const Span span = stage.of(spans_of(run.batches[i]));
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
  for (const Stage& stage : kStages) {
    Lane lane = make_lane(run, stage);
    if (!lane.spans.empty()) {
      lanes.push_back(std::move(lane));
    }
  }
  return lanes;
}

Steps window_fill(const RunRecord& run) {
  std::map<std::int64_t, std::int64_t> changes{{0, 0}};
  for (const BatchRecord& b : run.batches) {
    changes[b.ready_ns - run.begin_ns] += static_cast<std::int64_t>(b.bytes);
    changes[b.consumed_ns - run.begin_ns] -= static_cast<std::int64_t>(b.bytes);
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
