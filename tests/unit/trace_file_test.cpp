// Trace files: what is written is read; what is damaged is refused; a prefix reads.
#include "trace/trace_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>

#include "base/rng.h"
#include "support/temp_dir.h"
#include "trace/trace_facts.h"
#include "trace/trace_sort.h"

namespace blksweep {
namespace {

TraceRecord random_record(Rng& rng, std::int64_t time, std::uint32_t places) {
  TraceRecord r;
  r.time_ns = time;
  r.offset = rng.next() >> (1 + rng.below(63));
  r.bytes = rng.next() >> (1 + rng.below(63));
  r.returned = rng.below(2) == 0 ? kNotTold : static_cast<std::int64_t>(rng.below(1 << 20));
  r.latency_ns = rng.below(2) == 0 ? kNotTold : static_cast<std::int64_t>(rng.below(1 << 30));
  r.thread = rng.next() >> rng.below(64);
  r.place = static_cast<std::uint32_t>(rng.below(places));
  r.op = static_cast<TraceOp>(rng.below(kTraceOps));
  r.form = static_cast<CallForm>(rng.below(kCallForms));
  r.flags = static_cast<std::uint16_t>(rng.below(32));
  return r;
}

struct Trace {
  std::vector<std::string> names;
  std::vector<TraceRecord> records;
};

Trace random_trace(std::uint64_t seed, std::size_t count) {
  Rng rng(seed);
  Trace t;
  for (std::uint64_t n = 0; n < 1 + rng.below(20); ++n) {
    t.names.push_back("name " + std::to_string(n) + std::string(rng.below(300), 'x'));
  }
  std::int64_t time = 0;
  for (std::size_t i = 0; i < count; ++i) {
    time += static_cast<std::int64_t>(rng.below(1U << rng.below(30)));
    t.records.push_back(random_record(rng, time, static_cast<std::uint32_t>(t.names.size())));
  }
  return t;
}

TraceFacts facts_of_test() {
  TraceFacts f;
  f.kind = TraceKind::file;
  f.format = "csv";
  f.origin = "x";
  f.quantum_ns = 1000;
  f.notes = {"a note"};
  return f;
}

// The bytes of a file; `finished`: with its index.
std::string written(const Trace& t, std::uint32_t block_records, bool finished = true) {
  std::string out;
  auto w = TraceWriter::begin(
      [&out](std::span<const std::byte> bytes) {
        out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        return Result<>();
      },
      facts_of_test(), block_records);
  for (const TraceRecord& r : t.records) {
    TraceRecord named = r;
    named.place = w->place(t.names[r.place]).value();
    EXPECT_TRUE(w->add(named));
  }
  if (finished) {
    TraceFacts f = facts_of_test();
    f.lost = 7;
    EXPECT_TRUE(w->finish(f));
  } else {
    EXPECT_TRUE(w->flush());
  }
  return out;
}

class TraceFile : public testing::Test {
 protected:
  std::string stored(const std::string& bytes) {
    const std::string path = dir_.path() + "/t.trace";
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  // All records with their names, as far as they can be read.
  static Result<std::vector<std::pair<std::string, TraceRecord>>> all(TraceReader& reader) {
    std::vector<std::pair<std::string, TraceRecord>> out;
    std::vector<TraceRecord> block;
    for (;;) {
      BLKSWEEP_TRY(const bool some, reader.next(block));
      if (!some) {
        return out;
      }
      for (TraceRecord r : block) {
        const std::string& name = reader.names().at(r.place);
        r.place = 0;
        out.emplace_back(name, r);
      }
    }
  }
  static void expect_same(const Trace& t,
                          Result<std::vector<std::pair<std::string, TraceRecord>>> got,
                          std::size_t count) {
    ASSERT_TRUE(got) << got.error().message();
    ASSERT_EQ(got->size(), count);
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_EQ((*got)[i].first, t.names[t.records[i].place]);
      TraceRecord r = t.records[i];
      r.place = 0;
      ASSERT_TRUE((*got)[i].second == r) << i;
    }
  }
  TempDir dir_;
};

TEST_F(TraceFile, WhatIsWrittenIsRead) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Trace t = random_trace(seed, seed == 0 ? 1 : 10 + seed * 37);
    auto reader = TraceReader::open(stored(written(t, seed % 3 == 0 ? 7 : 1000)));
    ASSERT_TRUE(reader) << reader.error().message();
    EXPECT_TRUE(reader->whole());
    EXPECT_EQ(reader->records(), t.records.size());
    EXPECT_EQ(reader->facts().lost, 7U);
    EXPECT_EQ(reader->facts().notes, facts_of_test().notes);
    expect_same(t, all(*reader), t.records.size());
    reader->rewind();
    expect_same(t, all(*reader), t.records.size());
  }
}

TEST_F(TraceFile, ANameMayBeEmptyWhereverItStands) {
  for (const std::vector<std::string>& names :
       {std::vector<std::string>{""}, {"a", ""}, {"", "a"}, {"a", "", "b"}}) {
    Trace t{names, {}};
    for (std::uint32_t place = 0; place < names.size(); ++place) {
      t.records.emplace_back().place = place;
    }
    auto reader = TraceReader::open(stored(written(t, 100)));
    ASSERT_TRUE(reader) << reader.error().message();
    expect_same(t, all(*reader), t.records.size());
  }
}

TEST_F(TraceFile, AnEmptyTraceIsOne) {
  auto reader = TraceReader::open(stored(written({{"a"}, {}}, 10)));
  ASSERT_TRUE(reader);
  EXPECT_EQ(reader->records(), 0U);
  EXPECT_TRUE(all(*reader)->empty());
}

TEST_F(TraceFile, AKilledWriterLeavesWholeBlocks) {
  const Trace t = random_trace(3, 100);
  const std::string bytes = written(t, 10, false);
  std::size_t most = 0;
  for (std::size_t cut = 400; cut <= bytes.size(); cut += 13) {
    auto reader = TraceReader::open(stored(bytes.substr(0, cut)));
    ASSERT_TRUE(reader) << reader.error().message();
    EXPECT_FALSE(reader->whole());
    EXPECT_EQ(reader->records(), std::nullopt);
    const auto got = all(*reader);
    ASSERT_TRUE(got) << got.error().message();
    EXPECT_EQ(got->size() % 10, 0U);
    EXPECT_GE(got->size(), most);
    most = got->size();
    expect_same(t, got, most);
  }
  auto whole = TraceReader::open(stored(bytes));
  expect_same(t, all(*whole), 100);
}

// A flipped bit gives an Error, or (in the tail) the same records.
TEST_F(TraceFile, NoFlippedBitGivesOtherRecords) {
  const Trace t = random_trace(5, 60);
  const std::string bytes = written(t, 20);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << (at % 8)));
    auto reader = TraceReader::open(stored(damaged));
    if (reader) {
      if (const auto got = all(*reader)) {
        expect_same(t, got, t.records.size());
        EXPECT_FALSE(reader->whole()) << at;
      }
    }
  }
}

TEST_F(TraceFile, AWriterRefusesWhatAReaderWould) {
  auto w = TraceWriter::begin([](auto) { return Result<>(); }, facts_of_test());
  TraceRecord r;
  EXPECT_FALSE(w->add(r)) << "no name";
  ASSERT_TRUE(w->place("a"));
  r.time_ns = 5;
  EXPECT_TRUE(w->add(r));
  r.time_ns = 4;
  EXPECT_FALSE(w->add(r)) << "earlier";
  EXPECT_FALSE(w->place(std::string(kMaxNameBytes + 1, 'n')));
}

TEST_F(TraceFile, OtherFilesAreRefusedByName) {
  for (const std::string& bytes : {std::string(), std::string("fio version 2 iolog\n"),
                                   std::string(4096, '\0'), std::string("BLKSWTRC")}) {
    const auto reader = TraceReader::open(stored(bytes));
    ASSERT_FALSE(reader);
    EXPECT_NE(reader.error().message().find("t.trace"), std::string::npos);
  }
}

TEST(TraceFacts, ComeBackFromJson) {
  TraceFacts f = facts_of_test();
  f.start_unix_ns = -5;
  f.synthetic_times = f.incomplete = true;
  f.skipped = 3;
  const auto again = parse_trace_facts(json_line(json_of(f)));
  ASSERT_TRUE(again);
  EXPECT_EQ(json_of(*again), json_of(f));
  EXPECT_EQ(defects_of(*again).size(), 3U);
  EXPECT_FALSE(parse_trace_facts("{}"));
  EXPECT_FALSE(parse_trace_facts(R"({"kind": 5, "format": []})"));
  EXPECT_FALSE(parse_trace_facts("not json"));
}

TEST(TraceSort, GivesAllInOrderAndKeepsTheOrderOfEqualTimes) {
  TempDir dir;
  for (const std::size_t run : {1000U, 64U, 7U}) {
    Rng rng(run);
    TraceSort sort(dir.path(), run);
    std::vector<TraceRecord> in;
    for (std::uint64_t i = 0; i < 500; ++i) {
      TraceRecord r;
      r.time_ns = static_cast<std::int64_t>(rng.below(50));
      r.offset = i;
      r.place = static_cast<std::uint32_t>(i);
      in.push_back(r);
      ASSERT_TRUE(sort.add(r));
    }
    std::ranges::stable_sort(in, {}, &TraceRecord::time_ns);
    std::vector<TraceRecord> out;
    ASSERT_TRUE(sort.drain([&out](const TraceRecord& r) {
      out.push_back(r);
      return Result<>();
    }));
    EXPECT_EQ(out, in) << run;
  }
}

TEST(TraceBlock, AHeadIsRefusedForEachOfItsFields) {
  const BlockHead good{.magic = kBlockMagic,
                       .records = kBlockRecords,
                       .first_ns = 5,
                       .last_ns = 5,
                       .names = 10,
                       .names_bytes = 20,
                       .stored_bytes = kMaxBlockBytes,
                       .reserved = 0,
                       .check = 0};
  EXPECT_TRUE(check_head(good));
  const std::function<void(BlockHead&)> changes[] = {
      [](BlockHead& h) { ++h.magic; },
      [](BlockHead& h) { h.records = 0; },
      [](BlockHead& h) { ++h.records; },
      [](BlockHead& h) { h.first_ns = -1; },
      [](BlockHead& h) { h.last_ns = 4; },
      [](BlockHead& h) { ++h.names; },
      [](BlockHead& h) { h.names_bytes = kMaxNewNamesBytes + 1; },
      [](BlockHead& h) { ++h.stored_bytes; },
      [](BlockHead& h) { h.reserved = 1; }};
  for (std::size_t i = 0; i < std::size(changes); ++i) {
    BlockHead bad = good;
    changes[i](bad);
    EXPECT_FALSE(check_head(bad)) << i;
  }
}

}  // namespace
}  // namespace blksweep
