// What a recorder hands over when it has ended stands in the trace in the order of its beginning.
#include "record/trace_output.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "base/clock.h"
#include "base/rng.h"
#include "os/file/trust.h"
#include "support/trace_rig.h"

namespace blksweep {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

TraceFacts facts_of_recorder() {
  TraceFacts facts;
  facts.kind = TraceKind::file;
  facts.format = "record";
  facts.origin = "a test";
  return facts;
}

struct Ended {
  std::int64_t begin_ns, end_ns;
};

class TraceOutputs : public support::TraceImport {
 protected:
  // The trace of these, each handed over when it has ended; looked at every 50 ms.
  Result<support::Imported> recorded(std::vector<Ended> all) {
    std::filesystem::remove(dir_.path("out"));
    BLKSWEEP_TRY(TraceOutput out, TraceOutput::begin(dir_.path("out"), facts_of_recorder()));
    BLKSWEEP_TRY(const std::uint32_t place, out.place("a file"));
    std::ranges::sort(all, {}, &Ended::end_ns);
    std::int64_t now = 0;
    for (const Ended& one : all) {
      for (; now < one.end_ns; now += kSecond / 20) {
        BLKSWEEP_CHECK(out.advance(now));
      }
      TraceRecord r = support::record(TraceOp::read, static_cast<std::uint64_t>(one.begin_ns), 1,
                                      one.end_ns - one.begin_ns);
      r.time_ns = one.begin_ns;
      r.place = place;
      out.add(r);
    }
    BLKSWEEP_CHECK(out.finish(facts_of_recorder()));
    return read(dir_.path("out"));
  }
  void expect_whole(const std::vector<Ended>& all, const char* what) {
    const auto got = recorded(all);
    ASSERT_TRUE(got) << got.error().message();
    ASSERT_EQ(got->records.size(), all.size()) << what;
    const std::int64_t first = std::ranges::min_element(all, {}, &Ended::begin_ns)->begin_ns;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const TraceRecord& r = got->records[i];
      EXPECT_EQ(r.time_ns, static_cast<std::int64_t>(r.offset) - first) << what << " " << i;
      EXPECT_EQ(got->name(i), "a file");
    }
    EXPECT_TRUE(std::ranges::is_sorted(got->records, {}, &TraceRecord::time_ns)) << what;
  }
};

TEST_F(TraceOutputs, ReadsThatOverlapAreInTheOrderOfTheirBeginning) {
  Rng rng(5);
  for (int round = 0; round < 20; ++round) {
    std::vector<Ended> all;
    for (int i = 0; i < 300; ++i) {
      const auto begin = kSecond + static_cast<std::int64_t>(rng.below(3 * kSecond));
      const auto took = static_cast<std::int64_t>(rng.below(1U << rng.below(31)));
      all.push_back({begin, begin + took});
    }
    expect_whole(all, "at random");
  }
}

TEST_F(TraceOutputs, OneThatTookLongerThanAnythingIsHeldBackHasItsPlace) {
  for (const std::int64_t begin : {kSecond / 2, kSecond + 5, 2 * kSecond}) {
    std::vector<Ended> all{{begin, 30 * kSecond}};
    for (std::int64_t at = kSecond; at < 20 * kSecond; at += kSecond / 10) {
      all.push_back({at, at + 1000});
    }
    expect_whole(all, "a late one");
  }
}

// Of one time, in the order in which they were handed over: a late one behind the others.
TEST_F(TraceOutputs, ALateOneIsBehindThoseOfItsTime) {
  std::vector<Ended> all{{2 * kSecond, 30 * kSecond}};
  for (std::int64_t at = kSecond; at < 20 * kSecond; at += kSecond) {
    all.push_back({at, at + 1000});
  }
  const auto got = recorded(all);
  ASSERT_TRUE(got) << got.error().message();
  ASSERT_EQ(got->records.size(), 20U);
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(got->records[i].latency_ns, i == 2 ? 28 * kSecond : 1000) << i;
  }
}

TEST_F(TraceOutputs, ItsBeginningIsTheFirstRecordsAlsoOfALateOne) {
  for (const std::int64_t late : {kSecond / 2, 3 * kSecond / 2}) {
    const auto got =
        recorded({{late, 30 * kSecond}, {kSecond, kSecond + 1}, {9 * kSecond, 9 * kSecond + 1}});
    ASSERT_TRUE(got) << got.error().message();
    const std::int64_t began = unix_ns() - (now_ns() - std::min(late, kSecond));
    EXPECT_LT(std::abs(got->facts.start_unix_ns.value_or(0) - began), kSecond / 4) << late;
  }
}

TEST_F(TraceOutputs, ARecordOfTimeZeroIsOneLikeOthers) {
  const std::vector<Ended> all{{0, 1}, {kSecond, kSecond + 1}, {2 * kSecond, 2 * kSecond + 1}};
  expect_whole(all, "from zero");
  EXPECT_TRUE(recorded(all).value().facts.start_unix_ns);
}

// As after a crash: nothing is finished, and what is there is read.
TEST_F(TraceOutputs, WhatIsNoLongerHeldBackIsInTheFileSoon) {
  constexpr std::int64_t kStep = kSecond / 20;
  auto out = TraceOutput::begin(dir_.path("out"), facts_of_recorder());
  ASSERT_TRUE(out) << out.error().message();
  const std::uint32_t place = out->place("a file").value();
  for (std::int64_t now = kStep; now <= 8 * kSecond; now += kStep) {
    TraceRecord r = support::record(TraceOp::read, static_cast<std::uint64_t>(now), 1);
    r.time_ns = now;
    r.place = place;
    out->add(r);
    ASSERT_TRUE(out->advance(now));
    if (now % kSecond == 0) {
      const std::int64_t there = now - TraceOutput::kLeastHold - TraceOutput::kFlushes;
      EXPECT_GE(std::ssize(read(dir_.path("out")).value().records), there / kStep) << now;
    }
  }
}

TEST_F(TraceOutputs, AFileThatIsThereIsNotTouched) {
  dir_.write("out", "of somebody");
  const auto out = TraceOutput::begin(dir_.path("out"), facts_of_recorder());
  ASSERT_FALSE(out);
  EXPECT_NE(out.error().message().find("is there already"), std::string::npos);
  const auto nowhere = TraceOutput::begin(dir_.path("no/out"), facts_of_recorder());
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().message().find("is there already"), std::string::npos);
}

TEST_F(TraceOutputs, NothingIsATraceOfNothing) {
  const auto got = recorded({});
  ASSERT_TRUE(got) << got.error().message();
  EXPECT_TRUE(got->records.empty());
}

TEST_F(TraceOutputs, WhereOthersCanPutTheirNamesNothingIsMade) {
  if (!is_real_root()) {
    GTEST_SKIP() << "asked of root alone";
  }
  const std::string open = dir_.path("open");
  std::filesystem::create_directory(open);
  std::filesystem::permissions(open, std::filesystem::perms::all);
  const auto made = TraceOutput::begin(open + "/out", facts_of_recorder());
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message().find(open), std::string::npos) << made.error().message();
  EXPECT_TRUE(std::filesystem::is_empty(open));
}

}  // namespace
}  // namespace blksweep
