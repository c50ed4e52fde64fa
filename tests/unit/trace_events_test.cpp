#include "store/export/trace_events.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "base/rng.h"
#include "store/export/json.h"
#include "support/demo_records.h"

namespace blksweep {
namespace {

constexpr std::int64_t kTraceBegin = 5'000'000'000'123;

// "1234.567" as it stands in the document, in ns: no double in between.
std::int64_t exact_ns(const std::string& text) {
  const std::size_t dot = text.find('.');
  EXPECT_EQ(text.size(), dot + 4) << text;
  std::int64_t whole = 0, part = 0;
  std::from_chars(text.data(), text.data() + dot, whole);
  std::from_chars(text.data() + dot + 1, text.data() + text.size(), part);
  return whole * 1000 + part;
}

// The number after `"key":` in the line of an event.
std::string raw_number(const std::string& line, const std::string& key) {
  const std::size_t at = line.find("\"" + key + "\":") + key.size() + 3;
  return line.substr(at, line.find_first_of(",}", at) - at);
}

struct Event {
  Json json;
  std::int64_t ts = 0, dur = 0;  // ns
  std::int64_t end() const { return ts + dur; }
};

struct Parsed {
  Json document;
  std::vector<Event> complete;  // "X", as written
  std::map<std::string, std::vector<Event>> counters;
  std::map<int, std::string> threads;
};

// Each event stands on a line of its own, as the document is written.
Parsed parse_events(const std::string& text) {
  Parsed p;
  p.document = Json::parse(text);
  std::size_t events = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    std::string line = text.substr(at, end - at);
    at = end + 1;
    if (!line.starts_with("{\"name\":")) {
      continue;
    }
    line.erase(line.find_last_of('}') + 1);
    Event e{Json::parse(line)};
    const std::string phase = e.json["ph"];
    e.ts = phase == "M" ? 0 : exact_ns(raw_number(line, "ts"));
    if (phase == "X") {
      e.dur = exact_ns(raw_number(line, "dur"));
      p.complete.push_back(e);
    } else if (phase == "C") {
      p.counters[e.json["name"]].push_back(e);
    } else if (e.json["name"] == "thread_name") {
      p.threads[e.json["tid"]] = e.json["args"]["name"];
    }
    ++events;
  }
  EXPECT_EQ(p.document["traceEvents"].size(), events);
  return p;
}

std::vector<Event> of_lane(const Parsed& p, const std::string& lane) {
  std::vector<Event> found;
  std::ranges::copy_if(p.complete, std::back_inserter(found),
                       [&](const Event& e) { return e.json["cat"] == lane; });
  return found;
}

// Reads that overlap at random, then copy and compute one after the other.
RunRecord random_run(std::uint64_t seed, std::uint32_t batches) {
  Rng rng(seed);
  RunRecord r;
  r.begin_ns = kTraceBegin;
  std::int64_t copied = kTraceBegin, computed = kTraceBegin;
  for (std::uint32_t b = 0; b < batches; ++b) {
    BatchRecord batch;
    batch.samples = b + 1;
    batch.bytes = 4096 * (b + 1);
    const auto some = [&rng](std::uint64_t most) {
      return static_cast<std::int64_t>(rng.below(most));
    };
    const auto pass = [&batch](Stage stage, std::int64_t begin, std::int64_t takes) {
      batch.times[stage] = without_wait({begin, begin + takes});
      return begin + takes;
    };
    const std::int64_t ready = pass(Stage::read, kTraceBegin + some(1'000'000), some(300'000));
    copied = pass(Stage::copy, std::max(ready, copied), some(999));
    computed = pass(Stage::compute, std::max(copied, computed), some(7777));
    batch.times.consumed = computed;
    r.batches.push_back(batch);
  }
  r.epoch_ns = computed - kTraceBegin;
  return r;
}

// The same with decoding, and a copy stage that takes memory of its own for each batch.
RunRecord decoded_run(std::uint64_t seed, std::uint32_t batches) {
  RunRecord r = random_run(seed, batches);
  for (BatchRecord& b : r.batches) {
    const std::int64_t ready = b.times[Stage::read]->end;
    StageTimes& copy = *b.times[Stage::copy];
    const std::int64_t wait = copy.begin - ready;
    b.times[Stage::decode] = without_wait({ready + wait / 3, ready + wait / 2});
    b.times[Stage::transfer] = copy;
    copy.begin -= wait / 4;
    copy.end += (b.times[Stage::compute]->begin - copy.end) / 2;
  }
  return r;
}

std::string document_of(const RunRecord& run) {
  return trace_events({1, "lba, repeat 0", demo_cell("lba", "none"), demo_host(), run, {}});
}

std::int64_t total(const std::vector<Event>& events) {
  std::int64_t sum = 0;
  for (const Event& e : events) {
    sum += e.dur;
  }
  return sum;
}

TEST(TraceEvents, EveryBatchIsInEveryLaneWithItsNumberSamplesAndBytes) {
  const RunRecord run = random_run(1, 50);
  const Parsed p = parse_events(document_of(run));
  for (const char* lane : {"read", "window", "copy", "staged", "compute"}) {
    std::set<std::uint32_t> batches;
    for (const Event& e : of_lane(p, lane)) {
      const std::uint32_t b = e.json["args"]["batch"];
      batches.insert(b);
      EXPECT_EQ(e.json["args"]["samples"], run.batches[b].samples);
      EXPECT_EQ(e.json["args"]["bytes"], run.batches[b].bytes);
    }
    EXPECT_EQ(batches.size(), 50U) << lane;
  }
}

TEST(TraceEvents, TimesAreTheMeasuredNanosecondsSinceTheEpochBegan) {
  RunRecord run = random_run(2, 40);
  run.batches.back().times[Stage::compute]->end =
      kTraceBegin + 9'007'199'254'740'993;  // no double holds it
  const Parsed p = parse_events(document_of(run));
  for (const Event& e : of_lane(p, "compute")) {
    const BatchRecord& b = run.batches[e.json["args"]["batch"]];
    EXPECT_EQ(e.ts, b.times[Stage::compute]->begin - kTraceBegin);
    EXPECT_EQ(e.end(), b.times[Stage::compute]->end - kTraceBegin);
  }
}

TEST(TraceEvents, TheDurationsOfALaneAddUpToWhatItsBatchesTook) {
  const RunRecord run = random_run(3, 200);
  std::int64_t read = 0, copy = 0, compute = 0, everything = 0;
  for (const BatchRecord& b : run.batches) {
    read += b.times[Stage::read]->end - b.times[Stage::read]->begin;
    copy += b.times[Stage::copy]->end - b.times[Stage::copy]->begin;
    compute += b.times[Stage::compute]->end - b.times[Stage::compute]->begin;
    everything += b.times[Stage::compute]->end - b.times[Stage::read]->begin;
  }
  const Parsed p = parse_events(document_of(run));
  EXPECT_EQ(total(of_lane(p, "read")), read);
  EXPECT_EQ(total(of_lane(p, "copy")), copy);
  EXPECT_EQ(total(of_lane(p, "compute")), compute);
  // Waiting is what is left: the lanes of a batch touch each other without a gap.
  EXPECT_EQ(total(p.complete) - run.epoch_ns, everything);
}

TEST(TraceEvents, ABatchPassesDecodingAndTheWholeOfCopyingWithoutAGap) {
  const RunRecord run = decoded_run(4, 100);
  const Parsed p = parse_events(document_of(run));
  std::int64_t everything = 0, copy = 0;
  for (const BatchRecord& b : run.batches) {
    everything += b.times[Stage::compute]->end - b.times[Stage::read]->begin;
    copy += b.times[Stage::copy]->end - b.times[Stage::copy]->begin;
  }
  EXPECT_EQ(total(of_lane(p, "copy")), copy) << "registering and giving back are copying";
  EXPECT_EQ(total(p.complete) - run.epoch_ns, everything);
  for (const char* lane : {"read", "window", "decode", "decoded", "copy", "staged", "compute"}) {
    EXPECT_EQ(of_lane(p, lane).size(), 100U) << lane;
  }
}

TEST(TraceEvents, EventsOfOneThreadNeverOverlapOrBeginTogether) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const Parsed p = parse_events(document_of(random_run(seed, 120)));
    std::map<int, std::vector<Event>> threads;
    for (const Event& e : p.complete) {
      threads[e.json["tid"]].push_back(e);
      EXPECT_TRUE(p.threads.contains(e.json["tid"])) << "a lane without a name";
    }
    for (auto& [tid, events] : threads) {
      std::ranges::sort(events, {}, &Event::ts);
      for (std::size_t i = 1; i < events.size(); ++i) {
        ASSERT_LE(events[i - 1].end(), events[i].ts) << p.threads.at(tid);
        ASSERT_LT(events[i - 1].ts, events[i].ts) << p.threads.at(tid);
      }
    }
  }
}

TEST(TraceEvents, ALaneHasAsManyRowsAsItsBusiestMomentNeeds) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const Lane read = batch_lanes(random_run(seed, 120)).front();
    std::size_t most = 0;
    for (const LaneSpan& s : read.spans) {  // the busiest moment is the beginning of a span
      most = std::max(
          most, static_cast<std::size_t>(std::ranges::count_if(read.spans, [&](const LaneSpan& o) {
            return o.begin_ns == s.begin_ns || (o.begin_ns < s.begin_ns && o.end_ns > s.begin_ns);
          })));
    }
    EXPECT_EQ(read.rows, most);
  }
}

TEST(TraceEvents, TheAcceleratorIsOnTopAndEveryThreadHasItsPlace) {
  const Parsed p = parse_events(document_of(random_run(1, 30)));
  ASSERT_EQ(p.threads.begin()->second, "epoch");
  EXPECT_EQ(p.threads.at(2), "compute");
  EXPECT_TRUE(p.threads.rbegin()->second.starts_with("read "));
  int last = 0;
  for (const auto& [tid, name] : p.threads) {
    EXPECT_EQ(tid, ++last) << name;
  }
}

TEST(TraceEvents, SpansThatTouchShareARowAndEmptyOnesThatBeginTogetherDoNot) {
  std::vector<LaneSpan> spans{{0, 0, 10, 0}, {1, 10, 10, 0}, {2, 10, 10, 0}, {3, 11, 12, 0}};
  EXPECT_EQ(assign_rows(spans), 2U);
  EXPECT_EQ(spans[1].row, 0U);
  EXPECT_EQ(spans[2].row, 1U);
  EXPECT_EQ(spans[3].row, 0U);
}

TEST(TraceEvents, WindowFillRisesWhenABatchIsReadyAndEndsAtNothing) {
  const RunRecord run = random_run(4, 100);
  const Steps fill = window_fill(run);
  EXPECT_EQ(fill.front(), (Steps::value_type{0, 0}));
  EXPECT_EQ(fill.back().second, 0U);
  for (const auto& [at, bytes] : fill) {
    std::uint64_t held = 0;
    for (const BatchRecord& b : run.batches) {
      const bool there =
          b.times[Stage::read]->end - kTraceBegin <= at && at < b.times.consumed - kTraceBegin;
      held += there ? b.bytes : 0;
    }
    EXPECT_EQ(bytes, held) << "at " << at;
  }
}

TEST(TraceEvents, WindowFillChangesWithEachByte) {
  RunRecord run;
  run.begin_ns = kTraceBegin;
  for (const std::int64_t ready : {10, 20, 30}) {
    BatchRecord& b = run.batches.emplace_back();
    b.bytes = 1;
    b.times[Stage::read] = without_wait({kTraceBegin, kTraceBegin + ready});
    b.times.consumed = kTraceBegin + ready + 35;
  }
  const Steps wanted{{0, 0}, {10, 1}, {20, 2}, {30, 3}, {45, 2}, {55, 1}, {65, 0}};
  EXPECT_EQ(window_fill(run), wanted);
}

TEST(TraceEvents, CountersGoForwardInTimeWithinTheEpochAndStandStillWithoutAChange) {
  RunRecord run = random_run(5, 60);
  run.probe = demo_run(0).probe;
  run.probe->series = {{kTraceBegin - 900, 1, 0},  {kTraceBegin - 10, 7, 2},
                       {kTraceBegin + 1000, 7, 2}, {kTraceBegin + 2000, 9, 2},
                       {kTraceBegin + 3000, 0, 0}, {kTraceBegin + run.epoch_ns + 1, 5, 5}};
  const Parsed p = parse_events(document_of(run));
  ASSERT_EQ(p.counters.size(), 3U);
  for (const auto& [name, events] : p.counters) {
    for (std::size_t i = 0; i < events.size(); ++i) {
      EXPECT_GE(events[i].ts, 0) << name;
      EXPECT_LE(events[i].ts, run.epoch_ns) << name;
      EXPECT_TRUE(i == 0 || events[i - 1].ts < events[i].ts) << name;
      EXPECT_TRUE(i == 0 || events[i - 1].json["args"] != events[i].json["args"]) << name;
    }
  }
  const auto& driver = p.counters.at("queue depth: driver");
  ASSERT_EQ(driver.size(), 3U);
  EXPECT_EQ(driver[0].json["args"]["requests"], 7);  // what held when the epoch began
  EXPECT_EQ(driver[0].ts, 0);
  EXPECT_EQ(driver[1].ts, 2000);
  EXPECT_EQ(p.counters.at("queue depth: scheduler").size(), 2U);
}

TEST(TraceEvents, FurtherCountersAreDrawnBesideTheOwnOnes) {
  RunRecord run = random_run(6, 5);
  run.epoch_ns = 1'000'000;
  const TraceCounter gpu{"GPU utilisation", "percent", {{0, 10}, {500'000, 90}}};
  const Parsed p =
      parse_events(trace_events({1, "a", demo_cell("lba", "none"), demo_host(), run, {gpu}}));
  ASSERT_EQ(p.counters.at("GPU utilisation").size(), 2U);
  EXPECT_EQ(p.counters.at("GPU utilisation")[1].json["args"]["percent"], 90);
}

TEST(TraceEvents, WhatACounterHeldBeforeTheEpochItHoldsFromItsBeginning) {
  TraceCounter gpu{"GPU", "percent", {{-9000, 10}, {-5000, 70}}};
  for (std::size_t events = 1; events <= 2; ++events) {
    const Parsed p = parse_events(
        trace_events({1, "a", demo_cell("lba", "none"), demo_host(), random_run(6, 5), {gpu}}));
    ASSERT_EQ(p.counters.at("GPU").size(), events);
    EXPECT_EQ(p.counters.at("GPU")[0].json["ts"], 0);
    gpu.steps.emplace_back(1, 90);
  }
}

TEST(TraceEvents, EachRequestWhoseEndWasSeenIsAnEventOfItsOwn) {
  RunRecord run = random_run(9, 20);
  ProbeRecord& probe = run.probe.emplace();
  Rng rng(9, 1);
  for (std::uint32_t i = 0; i < 500; ++i) {
    IssuePoint issue{kTraceBegin + std::int64_t{i} * 1000 - 5000, i * 8U, 4096};
    if (i % 10 != 0) {
      issue.latency_ns = static_cast<std::int64_t>(rng.below(40'000));
    }
    if (i % 3 == 0) {
      issue.read = i;
    }
    probe.issues.push_back(issue);
  }
  const Parsed p = parse_events(document_of(run));
  const std::vector<Event> events = of_lane(p, "request");
  EXPECT_EQ(events.size(), 450U - 4U);  // of the first 5, before the epoch, one has no end either
  std::map<int, std::int64_t> free_at;  // events of one row do not overlap
  for (const Event& e : events) {
    const IssuePoint& issue = probe.issues[e.json["args"]["sector"].get<std::size_t>() / 8];
    EXPECT_EQ(e.ts, issue.at_ns - kTraceBegin);
    EXPECT_EQ(e.dur, issue.latency_ns);
    EXPECT_EQ(e.json["args"]["read"].is_null(), !issue.read.has_value());
    EXPECT_TRUE(p.threads.at(e.json["tid"]).starts_with("request "));
    EXPECT_GE(e.ts, free_at[e.json["tid"]]);
    free_at[e.json["tid"]] = e.end();
  }
}

TEST(TraceEvents, ARunWithoutCopyOrConsumerHasTheLanesThatItHas) {
  RunRecord run = random_run(7, 20);
  for (BatchRecord& b : run.batches) {
    b.times[Stage::copy].reset();
    b.times[Stage::compute].reset();
  }
  const Parsed p = parse_events(document_of(run));
  EXPECT_EQ(of_lane(p, "read").size(), 20U);
  EXPECT_EQ(of_lane(p, "window").size(), 20U);
  for (const char* lane : {"copy", "staged", "compute"}) {
    EXPECT_TRUE(of_lane(p, lane).empty()) << lane;
  }
  for (const Event& e : of_lane(p, "window")) {
    EXPECT_EQ(e.end(), run.batches[e.json["args"]["batch"]].times.consumed - kTraceBegin);
  }
}

TEST(TraceEvents, ARunWithAConsumerAndNoCopyWaitsInTheWindowUntilItIsComputedOn) {
  RunRecord run = random_run(8, 20);
  for (BatchRecord& b : run.batches) {
    b.times[Stage::copy].reset();
  }
  const Parsed p = parse_events(document_of(run));
  EXPECT_TRUE(of_lane(p, "staged").empty());
  for (const Event& e : of_lane(p, "window")) {
    EXPECT_EQ(e.end(),
              run.batches[e.json["args"]["batch"]].times[Stage::compute]->begin - kTraceBegin);
  }
}

TEST(TraceEvents, AnEmptyRunIsADocumentWithAnEpochOfNothing) {
  RunRecord run;
  run.begin_ns = kTraceBegin;
  const Parsed p = parse_events(document_of(run));
  ASSERT_EQ(p.complete.size(), 1U);
  EXPECT_EQ(p.complete[0].json["name"], "epoch");
  EXPECT_EQ(p.complete[0].dur, 0);
}

TEST(TraceEvents, NamesThatAreNoPlainTextStayAValidDocument) {
  TraceRun trace{7, "a \"b\" \\ \xff", demo_cell("lba", "none"), demo_host(), random_run(9, 3), {}};
  trace.run.warnings = {"caf\xe9 \n"};
  const Parsed p = parse_events(trace_events(trace));
  EXPECT_EQ(p.document["traceEvents"][0]["args"]["name"], "run 7: a \"b\" \\ \xef\xbf\xbd");
  EXPECT_EQ(p.document["otherData"]["run_id"], 7);
}

}  // namespace
}  // namespace blksweep
