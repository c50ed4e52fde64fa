#include "store/batch_lanes.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

namespace blksweep {
namespace {

using Time = Maybe<std::int64_t>;

struct Stage {
  const char* name;
  Time (*begin)(const BatchRecord&);
  Time (*end)(const BatchRecord&);
};

// Where a batch goes after waiting: to the next stage that the run has.
Time leaves_window(const BatchRecord& b) {
  return b.decode_begin_ns    ? b.decode_begin_ns
         : b.copy_begin_ns    ? b.copy_begin_ns
         : b.compute_begin_ns ? b.compute_begin_ns
                              : Time(b.consumed_ns);
}
Time leaves_staging(const BatchRecord& b) {
  return b.compute_begin_ns ? b.compute_begin_ns : Time(b.consumed_ns);
}

constexpr std::array<Stage, 6> kStages{{
    {"read", [](const BatchRecord& b) { return Time(b.first_submit_ns); },
     [](const BatchRecord& b) { return Time(b.ready_ns); }},
    {"window", [](const BatchRecord& b) { return Time(b.ready_ns); }, leaves_window},
    {"decode", [](const BatchRecord& b) { return b.decode_begin_ns; },
     [](const BatchRecord& b) { return b.decode_end_ns; }},
    {"copy", [](const BatchRecord& b) { return b.copy_begin_ns; },
     [](const BatchRecord& b) { return b.copy_end_ns; }},
    {"staged", [](const BatchRecord& b) { return b.copy_end_ns; }, leaves_staging},
    {"compute", [](const BatchRecord& b) { return b.compute_begin_ns; },
     [](const BatchRecord& b) { return b.compute_end_ns; }},
}};

Lane make_lane(const RunRecord& run, const Stage& stage) {
  Lane lane{stage.name, {}, 0};
  for (std::uint32_t i = 0; i < run.batches.size(); ++i) {
    const Time begin = stage.begin(run.batches[i]);
    const Time end = stage.end(run.batches[i]);
    if (begin && end && *end >= *begin) {
      lane.spans.push_back({i, *begin - run.begin_ns, *end - run.begin_ns, 0});
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
