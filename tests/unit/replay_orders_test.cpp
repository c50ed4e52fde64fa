#include "replay/orders.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/trace_rig.h"

namespace blksweep {
namespace {

const std::atomic<bool> kNobodyStops{false};

class ReplayOrders : public support::TraceImport {
 protected:
  // "time thread latency" of 4 KiB reads; latency -1: not told.
  struct Line {
    std::int64_t time, latency;
    std::uint64_t thread;
  };
  TraceReader trace_of(const std::vector<Line>& lines) {
    std::string csv = "time_ns,op,offset,bytes,returned,latency_ns,thread,form,flags,volume\n";
    for (const Line& l : lines) {
      csv += std::to_string(l.time) + ",read,0,4096,," + std::to_string(l.latency) + "," +
             std::to_string(l.thread) + ",,,v\n";
    }
    EXPECT_TRUE(import(csv));
    return *TraceReader::open(dir_.path("out"));
  }
  static const char* anywhere(const TraceRecord& r, ReplayRequest& q) {
    q.offset = r.offset;
    q.bytes = static_cast<std::uint32_t>(r.bytes);
    return nullptr;
  }
};

// Two threads on a device that takes `latency`: when each request is due.
std::vector<std::pair<std::uint64_t, std::int64_t>> run(DependentOrder& order,
                                                        std::int64_t latency) {
  std::vector<std::pair<std::uint64_t, std::int64_t>> out;
  std::vector<std::pair<std::int64_t, ReplayRequest>> in_flight;
  for (;;) {
    ReplayRequest request;
    if (order.next(request) == RequestOrder::Next::request) {
      out.emplace_back(request.number, request.due_ns);
      in_flight.emplace_back(request.due_ns + latency, request);
      continue;
    }
    if (in_flight.empty()) {
      std::ranges::sort(out);  // by number: the loop exchanges what it holds, this does not
      return out;
    }
    const auto first = std::ranges::min_element(in_flight, {}, [](auto& f) { return f.first; });
    const auto [at, done] = *first;
    in_flight.erase(first);
    order.completed(done, at);
  }
}

TEST_F(ReplayOrders, EachThreadThinksAsLongAsItDid) {
  TraceReader trace = trace_of({{0, 100, 1}, {10, 50, 2}, {90, 10, 2}, {150, 100, 1}});
  Feed feed(trace, {}, anywhere);
  feed.begin();
  auto order = DependentOrder::gather(feed, 1, kNobodyStops);
  ASSERT_TRUE(order);
  // Thread 1 thinks 50 after its completion at 100, thread 2 thinks 30 after its own at 60.
  const auto got = run(*order, 1000);
  const std::vector<std::pair<std::uint64_t, std::int64_t>> wanted{
      {0, 0}, {1, 10}, {2, 1040}, {3, 1050}};
  EXPECT_EQ(got, wanted);
}

TEST_F(ReplayOrders, WhatAThreadHadInFlightTogetherStaysTogether) {
  // Three at once, as by io_uring; the fourth came after the second had completed.
  TraceReader trace = trace_of({{0, 500, 1}, {1, 99, 1}, {2, 500, 1}, {130, 10, 1}});
  Feed feed(trace, {}, anywhere);
  feed.begin();
  auto order = DependentOrder::gather(feed, 2, kNobodyStops);  // twice as fast
  ASSERT_TRUE(order);
  const auto got = run(*order, 1000);
  const std::vector<std::pair<std::uint64_t, std::int64_t>> wanted{
      {0, 0}, {1, 0}, {2, 1}, {3, 1015}};
  EXPECT_EQ(got, wanted);
}

TEST_F(ReplayOrders, AHeldRequestGivesWayToOneThatIsDueBefore) {
  TraceReader trace = trace_of({{0, 10, 1}, {5, 1, 2}, {1000, 1, 1}, {5000, 1, 2}});
  Feed feed(trace, {}, anywhere);
  feed.begin();
  auto order = DependentOrder::gather(feed, 1, kNobodyStops);
  ReplayRequest a, b, held;
  ASSERT_EQ(order->next(a), RequestOrder::Next::request);
  ASSERT_EQ(order->next(b), RequestOrder::Next::request);
  order->completed(b, 6);
  ASSERT_EQ(order->next(held), RequestOrder::Next::request);
  EXPECT_EQ(held.number, 3U);
  EXPECT_FALSE(order->earlier(held));
  order->completed(a, 10);
  ASSERT_TRUE(order->earlier(held));
  EXPECT_EQ(held.number, 2U);
  EXPECT_FALSE(order->earlier(held));
  ASSERT_EQ(order->next(held), RequestOrder::Next::request);
  EXPECT_EQ(held.number, 3U);
}

TEST_F(ReplayOrders, WritesAreLeftOutAndCounted) {
  ASSERT_TRUE(
      import("time_ns,op,offset,bytes,returned,latency_ns,thread,form,flags,volume\n"
             "0,write,0,4096,,,,,,v\n7,read,8,4096,,,,,,v\n8,discard,0,4096,,,,,,v\n"
             "9,read,0,0,,,,,,v\n"));
  TraceReader trace = *TraceReader::open(dir_.path("out"));
  Feed feed(trace, {2}, anywhere);
  feed.begin();
  TraceOrder order(feed);
  ReplayRequest r;
  ASSERT_EQ(order.next(r), RequestOrder::Next::request);
  EXPECT_EQ(r.due_ns, 0);  // times count from the first read
  EXPECT_EQ(r.offset, 8U);
  EXPECT_EQ(order.next(r), RequestOrder::Next::end);
  const LeftOut wanted{{"writes", 1}, {"discards", 1}, {"empty reads", 1}};
  EXPECT_EQ(feed.left_out(), wanted);
}

}  // namespace
}  // namespace blksweep
