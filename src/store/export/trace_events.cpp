#include "store/export/trace_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <utility>

#include "os/file/output_place.h"
#include "store/export/json.h"

namespace blksweep {
namespace {

constexpr std::size_t kMostRequests = 100'000;
constexpr const char* kHead = "{\"otherData\":";
constexpr int kProcess = 1;  // one process; its threads are the lanes

std::string quoted(const std::string& text) { return json_line(Json(text)); }

// Exact: 1234567 ns -> "1234.567". A double would lose nanoseconds of long epochs.
std::string micros(std::int64_t ns) {
  const auto size = static_cast<std::uint64_t>(std::abs(ns));
  return fmt::format("{}{}.{:03}", ns < 0 ? "-" : "", size / 1000, size % 1000);
}

class Document {
 public:
  void name(const char* what, int thread, const std::string& text) {
    event(R"({{"name":"{}","ph":"M","pid":{},"tid":{},"args":{{"name":{}}}}})", what, kProcess,
          thread, quoted(text));
  }

  void sort_index(int thread) {
    event(
        R"({{"name":"thread_sort_index","ph":"M","pid":{0},"tid":{1},"args":{{"sort_index":{1}}}}})",
        kProcess, thread);
  }

  void epoch(int thread, std::int64_t epoch_ns) {
    event(
        R"({{"name":"epoch","cat":"epoch","ph":"X","ts":0.000,"dur":{},"pid":{},"tid":{},"args":{{}}}})",
        micros(epoch_ns), kProcess, thread);
  }

  void span(const std::string& lane, int thread, const LaneSpan& s, const BatchRecord& batch) {
    event(R"({{"name":"{0} {1}","cat":"{0}","ph":"X","ts":{2},"dur":{3},"pid":{4},"tid":{5},)"
          R"("args":{{"batch":{1},"samples":{6},"bytes":{7}}}}})",
          lane, s.batch, micros(s.begin_ns), micros(s.end_ns - s.begin_ns), kProcess, thread,
          batch.samples, batch.bytes);
  }

  void span(int thread, const PlaceSpan& s) {
    event(R"({{"name":{},"cat":"request","ph":"X","ts":{},"dur":{},"pid":{},"tid":{},"args":{}}})",
          quoted(s.name), micros(s.begin_ns), micros(s.end_ns - s.begin_ns), kProcess, thread,
          json_line(s.args));
  }

  void value(const TraceCounter& counter, std::int64_t at_ns, std::uint64_t value) {
    event(R"({{"name":{},"ph":"C","ts":{},"pid":{},"args":{{{}:{}}}}})", quoted(counter.name),
          micros(at_ns), kProcess, quoted(counter.unit), value);
  }

  // Without displayTimeUnit: some readers took it for the unit of ts.
  std::string finish(const Json& about) {
    return fmt::format("{}{},\n\"traceEvents\":[{}\n]}}\n", kHead, json_line(about), events_);
  }

 private:
  template <class... Args>
  void event(fmt::format_string<Args...> format, Args&&... args) {
    events_ += events_.empty() ? "\n" : ",\n";
    events_ += fmt::format(format, std::forward<Args>(args)...);
  }
  std::string events_;
};

// What is needed to go from the picture back to the measurement.
Json about(const TraceRun& t) {
  const RunRecord& r = t.run;
  return {{"run_id", t.run_id},
          {"cell", cell_json(t.cell)},
          {"repeat", r.repeat},
          {"seed", std::to_string(r.seed)},  // 64 bits, which readers of JSON round
          {"begin_ns", r.begin_ns},
          {"epoch_ns", r.epoch_ns},
          {"batches", r.batches.size()},
          {"incomplete", r.incomplete},
          {"incomplete_reason", r.incomplete_reason},
          {"warnings", r.warnings},
          {"host", host_json(t.host)}};
}

void add_lane(Document& out, int first_thread, const Lane& lane, const RunRecord& run) {
  for (std::uint32_t row = 0; row < lane.rows; ++row) {
    const int thread = first_thread + static_cast<int>(row);
    out.name("thread_name", thread,
             lane.rows == 1 ? lane.name : fmt::format("{} {}", lane.name, row + 1));
    out.sort_index(thread);
  }
  for (const LaneSpan& s : lane.spans) {
    out.span(lane.name, first_thread + static_cast<int>(s.row), s, run.batches[s.batch]);
  }
}

// Requests at the driver, those whose end was seen, below the reads that they are of. What was at
// the driver when the epoch began is left out: Perfetto drops negative times.
void add_requests(Document& out, int first_thread, const RunRecord& run) {
  std::vector<LaneSpan> spans;
  const std::vector<IssuePoint>& issues = run.probe->issues;
  for (std::uint32_t i = 0; i < issues.size() && spans.size() < kMostRequests; ++i) {
    const std::int64_t begin = issues[i].at_ns - run.begin_ns;
    if (issues[i].latency_ns && begin >= 0) {
      spans.push_back({i, begin, begin + *issues[i].latency_ns, 0});
    }
  }
  std::ranges::stable_sort(spans, {}, &LaneSpan::begin_ns);
  const std::uint32_t rows = assign_rows(spans);
  for (std::uint32_t row = 0; row < rows; ++row) {
    const int thread = first_thread + static_cast<int>(row);
    out.name("thread_name", thread, fmt::format("request {}", row + 1));
    out.sort_index(thread);
  }
  for (const LaneSpan& s : spans) {
    const IssuePoint& issue = issues[s.batch];
    const Json args = {{"sector", issue.sector},
                       {"bytes", issue.bytes},
                       {"read", or_null(issue.read)},
                       {"batch", or_null(issue.batch)}};
    out.span(first_thread + static_cast<int>(s.row),
             {s.row, s.begin_ns, s.end_ns, fmt::format("request {}", s.batch), args});
  }
}

// A value that did not change is not repeated: a counter holds until its next event. What held
// when the epoch began stands at 0, because Perfetto drops negative times.
void add_counter(Document& out, const TraceCounter& counter, std::int64_t epoch_ns) {
  Maybe<std::uint64_t> before, shown;
  for (const auto& [at, value] : counter.steps) {
    if (at <= 0) {
      before = value;
      continue;
    }
    if (before) {
      out.value(counter, 0, *before);
      shown = std::exchange(before, {});
    }
    if (at <= epoch_ns && shown != value) {
      out.value(counter, at, value);
      shown = value;
    }
  }
  if (before) {
    out.value(counter, 0, *before);
  }
}

TraceCounter depth_counter(const RunRecord& run, const char* name,
                           std::uint32_t DepthPoint::*depth) {
  TraceCounter counter{name, "requests", {}};
  for (const DepthPoint& p : run.probe->series) {
    counter.steps.emplace_back(p.at_ns - run.begin_ns, p.*depth);
  }
  return counter;
}

}  // namespace

std::vector<TraceCounter> own_counters(const RunRecord& run) {
  std::vector<TraceCounter> counters;
  if (run.probe) {
    counters.push_back(depth_counter(run, "queue depth: driver", &DepthPoint::driver));
    counters.push_back(depth_counter(run, "queue depth: scheduler", &DepthPoint::scheduler));
  }
  counters.push_back({"window fill", "bytes", window_fill(run)});
  return counters;
}

std::string place_events(const std::string& title, const std::string& place,
                         const std::vector<PlaceSpan>& spans, const Json& about) {
  Document out;
  out.name("process_name", 0, title);
  std::set<std::uint32_t> used;
  for (const PlaceSpan& s : spans) {
    used.insert(s.place);
  }
  for (const std::uint32_t p : used) {
    const int thread = static_cast<int>(p) + 1;
    out.name("thread_name", thread, fmt::format("{} {}", place, thread));
    out.sort_index(thread);
  }
  for (const PlaceSpan& s : spans) {
    out.span(static_cast<int>(s.place) + 1, s);
  }
  return out.finish(about);
}

Result<> check_timeline_place(const std::string& path) {
  return check_output_place(path, {"timeline", {kHead}});
}

std::string trace_events(const TraceRun& trace) {
  Document out;
  const RunRecord& run = trace.run;
  out.name("process_name", 0, fmt::format("run {}: {}", trace.run_id, trace.label));
  int thread = 1;
  out.name("thread_name", thread, "epoch");
  out.sort_index(thread);
  out.epoch(thread++, run.epoch_ns);
  std::vector<Lane> lanes = batch_lanes(run);
  std::ranges::reverse(lanes);  // the accelerator on top: a wide window has a hundred rows of reads
  for (const Lane& lane : lanes) {
    add_lane(out, thread, lane, run);
    thread += static_cast<int>(lane.rows);
  }
  if (run.probe) {
    add_requests(out, thread, run);
  }
  for (const auto& counters : {own_counters(run), trace.counters}) {
    for (const TraceCounter& counter : counters) {
      add_counter(out, counter, run.epoch_ns);
    }
  }
  return out.finish(about(trace));
}

}  // namespace blksweep
