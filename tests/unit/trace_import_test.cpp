// Importers: columns, units and traps of each format, on lines as they stand in the real files.
#include "trace/import/import.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "support/trace_rig.h"

namespace blksweep {
namespace {

using support::record;
using support::TraceImport;

struct BlktraceEvent {
  std::uint32_t magic = 0x65617407, sequence = 0;
  std::uint64_t time = 0, sector = 0;
  std::uint32_t bytes = 0, action = 0, pid = 0, device = 8 << 20 | 16, cpu = 0;
  std::uint16_t error = 0, pdu_len = 0;
};
static_assert(sizeof(BlktraceEvent) == 48);

std::string bytes_of(const BlktraceEvent& e) {
  return {reinterpret_cast<const char*>(&e), sizeof e};
}

BlktraceEvent event(std::uint32_t what, std::uint64_t time) {
  BlktraceEvent e;
  e.time = time;
  e.sector = 100;
  e.bytes = 4096;
  e.action = what | 1U << 16;
  e.pid = 77;
  return e;
}

TEST_F(TraceImport, MsrCountsFiletimesAndBytes) {
  expect_one("128166372003061629,hm,0,Read,383496192,32768,3217\n", "msr",
             record(TraceOp::read, 383496192, 32768, 321'700), "hm.0");
  const auto got = import("128166372003061629,hm,0,Write,0,512,0\n");
  EXPECT_EQ(got->facts.start_unix_ns, 1'172'163'600'306'162'900);
}

TEST_F(TraceImport, CsvHasNoNegativeReturnsOrLatencies) {
  const std::string head = "time_ns,op,offset,bytes,returned,latency_ns,thread,form,flags,path\n";
  EXPECT_TRUE(import(head + "0,read,0,4096,,,0,read,,a\n"));
  EXPECT_FALSE(import(head + "0,read,0,4096,-1,,0,read,,a\n"));
  EXPECT_FALSE(import(head + "0,read,0,4096,,-1,0,read,,a\n"));
}

TEST_F(TraceImport, AlibabaCountsMicrosecondsAndBytes) {
  expect_one("419,W,8792731648,16384,1577808144360767\n", "alibaba",
             record(TraceOp::write, 8792731648, 16384), "419");
}

TEST_F(TraceImport, TencentCountsSecondsAndSectorsAndZeroReads) {
  expect_one("1538323200,12910952,128,0,1063\n", "tencent",
             record(TraceOp::read, 12910952ULL * 512, 128 * 512), "1063");
  EXPECT_EQ(import("1538323200,1,8,1,1063\n")->facts.quantum_ns, 1'000'000'000);
}

TEST_F(TraceImport, SystorHasAHeaderAndEmptyFields) {
  const std::string head = "Timestamp,Response,IOType,LUN,Offset,Size\n";
  expect_one(head + "1455592858.042000000,0.000512,R,4,4096,8192\n", "systor",
             record(TraceOp::read, 4096, 8192, 512'000), "4");
  expect_one(head + "1455592858.042000000,,,4,4096,8192\n", "systor",
             record(TraceOp::other, 4096, 8192), "4");
}

TEST_F(TraceImport, SpcAddressesAreSectorsOfTheirUnit) {
  expect_one("1,240840,3072,W,0.026214,extra\n", "spc",
             record(TraceOp::write, 240840ULL * 512, 3072), "1");
  const auto got = import("0,20,512,r,0.5\n1, 20, 512, R, 0.6\n");
  ASSERT_TRUE(got);
  EXPECT_NE(got->name(0), got->name(1)) << "an address space each";
  EXPECT_EQ(got->records[1].time_ns, 100'000'000);
}

TEST_F(TraceImport, FiuNamesOfProcessesMayHaveBlanks) {
  const std::string md5 = "0123456789abcdef0123456789abcdef";
  expect_one("89966085 4892 pdf lush d 904265560 8 W 6 0 " + md5 + "\n", "fiu",
             record(TraceOp::write, 904265560ULL * 512, 4096), "6:0");
}

TEST_F(TraceImport, HfplayerCountsMillisecondsAndOneReads) {
  expect_one("12.5, 3, 8192, 4096, 1\n", "hfplayer", record(TraceOp::read, 8192, 4096), "3",
             with_format("hfplayer"));
}

TEST_F(TraceImport, DiskSimAsksForItsUnit) {
  expect_refused("1000 0 16 8 1\n", "--time-unit");
  ImportSettings s;
  s.options.time_unit_ns = 1'000'000;
  expect_one("1000.25 0 16 8 1\n", "disksim", record(TraceOp::read, 16 * 512, 4096), "0", s);
}

TEST_F(TraceImport, LookAlikesAreNotGuessed) {
  expect_refused("5,1,512,1,0\n", "hfplayer");  // Tencent's and hfplayer's columns alike
  expect_refused("5,1,512,1,0\n", "tencent");
  EXPECT_TRUE(import("5,1,512,1,0\n", with_format("tencent")));
  expect_refused("what is this\n", "--format");
  expect_refused("", "no access");
}

TEST_F(TraceImport, BlkparseTakesIssuesAndMatchesCompletions) {
  const std::string text =
      "  8,0    1        1     0.000000000   697  Q  RA 2048 + 8 [cat]\n"
      "  8,0    1        2     0.000001000   697  P   N [cat]\n"
      "  8,0    1        3     0.000005000   697  D  RA 2048 + 8 [cat]\n"
      "  8,0    1        4     0.000006000   697  D FWS 4096 + 16 [cat]\n"
      "  8,0    0        5     0.000105000     0  C  RA 2048 + 8 [0]\n"
      "CPU0 (sda):\n Reads Queued:           1,        4KiB\n";
  const auto got = import(text);
  ASSERT_TRUE(got) << got.error().message();
  EXPECT_EQ(got->facts.format, "blkparse");
  ASSERT_EQ(got->records.size(), 2U);
  EXPECT_EQ(got->records[0].latency_ns, 100'000);
  EXPECT_EQ(got->records[0].flags, kTraceReadahead);
  EXPECT_EQ(got->records[0].offset, 2048U * 512);
  EXPECT_EQ(got->records[1].latency_ns, kNotTold);
  EXPECT_EQ(got->records[1].op, TraceOp::write);
  EXPECT_EQ(got->records[1].flags, kTraceSync);
  ImportSettings queued;
  queued.options.action = 'Q';
  EXPECT_EQ(import(text, queued)->records.at(0).latency_ns, 105'000);
}

TEST_F(TraceImport, FlushesOfBlkparseHaveNoSectorAndAreNotTheReadAtZero) {
  const auto got = import(
      "  8,0    1        1     0.000000000   697  D   R 0 + 8 [cat]\n"
      "  8,0    1        2     0.000001000   697  D  FN [kworker/1:1H]\n"
      "  8,0    1        3     0.000002000   697  D FWS [jbd2/sda1-8]\n"
      "  8,0    1        4     0.000003000   697  D   N (1a 00 [smartd]\n"
      "  8,0    1        5     0.000021000     0  C  FN 0 [0]\n"
      "  8,0    1        6     0.000042000     0  C FWS 0 [0]\n"
      "  8,0    1        7     0.000100000     0  C   R 0 + 8 [0]\n");
  ASSERT_TRUE(got) << got.error().message();
  ASSERT_EQ(got->records.size(), 3U);
  EXPECT_EQ(got->records[0].latency_ns, 100'000);
  for (const std::size_t flush : {1U, 2U}) {
    EXPECT_EQ(got->records[flush].op, TraceOp::flush);
    EXPECT_EQ(got->records[flush].offset, 0U);
    EXPECT_EQ(got->records[flush].bytes, 0U);
    EXPECT_EQ(got->records[flush].latency_ns, 20'000 * static_cast<std::int64_t>(flush));
  }
  EXPECT_EQ(got->facts.notes,
            std::vector<std::string>{"1 requests without an address are left out"});
}

TEST_F(TraceImport, ARequestThatWentBackToTheQueueCountsOnce) {
  const auto got = import(
      "  8,0    1        1     0.000000000   697  D   R 2048 + 8 [cat]\n"
      "  8,0    1        2     0.000001000   697  D   R 4096 + 8 [cat]\n"
      "  8,0    1        3     0.000002000   697  R   R 2048 + 8 [0]\n"
      "  8,0    1        4     0.000009000   697  D   R 2048 + 8 [cat]\n"
      "  8,0    1        5     0.000010000   697  C   R 2048 + 8 [0]\n");
  ASSERT_TRUE(got) << got.error().message();
  ASSERT_EQ(got->records.size(), 2U);
  EXPECT_EQ(got->records[0].offset, 4096U * 512);
  EXPECT_EQ(got->records[1].latency_ns, 1'000) << "of the issue that was carried out";
  std::string events;
  for (const std::uint32_t what : {7U, 6U, 7U, 8U}) {
    events += bytes_of(event(what, 1'000 + events.size()));
  }
  EXPECT_EQ(import(events)->records.size(), 1U);
}

TEST_F(TraceImport, IologsTellTimesAndNoBookKeeping) {
  const auto got = import(
      "fio version 3 iolog\n5 /d/a add\n5 /d/a open\n7 /d/a read 4096 512\n9 /d/a trim 0 4096\n"
      "9 /d/a close\n");
  ASSERT_TRUE(got) << got.error().message();
  EXPECT_EQ(got->facts.kind, TraceKind::file);
  ASSERT_EQ(got->records.size(), 2U);
  EXPECT_EQ(got->records[1].time_ns, 2'000) << "microseconds";
  EXPECT_EQ(got->records[1].op, TraceOp::discard);
  EXPECT_EQ(import("fio version 3 iolog\n0 /dev/sda read 0 512\n")->facts.kind, TraceKind::block);
}

TEST_F(TraceImport, AWaitOfVersion2AsksForItsUnit) {
  const std::string text =
      "fio version 2 iolog\na open\na read 0 512\na wait 30\na read 512 512\na wait 20\n"
      "a read 0 1\n";
  expect_refused(text, ":4: a wait");
  ImportSettings s;
  s.options.time_unit_ns = 1'000;
  EXPECT_EQ(import(text, s)->records.at(2).time_ns, 50'000) << "each from the line before";
  s.options.time_unit_ns = 1'000'000;
  EXPECT_FALSE(import(text, s)->records.empty());
  EXPECT_EQ(import(text, s)->records.at(2).time_ns, 30'000'000) << "from the beginning, sorted";
}

TEST_F(TraceImport, AnIologWithoutTimesSaysSo) {
  EXPECT_TRUE(import("fio version 2 iolog\na read 0 512\na read 512 512\n")->facts.synthetic_times);
  EXPECT_FALSE(import("fio version 3 iolog\n0 a read 0 512\n")->facts.synthetic_times);
  ImportSettings s;
  s.options.time_unit_ns = 1'000;
  const std::string waits = "fio version 2 iolog\na read 0 512\na wait 30\na read 512 512\n";
  EXPECT_FALSE(import(waits, s)->facts.synthetic_times);
}

TEST_F(TraceImport, BlktraceMatchesCompletionsAcrossFiles) {
  const BlktraceEvent issue = event(7, 0), done = event(8, 4'000);
  BlktraceEvent message = event(7, 2'000);
  message.action = 2 | 1U << 26;
  message.pdu_len = 5;
  dir_.write("cpu0", bytes_of(issue) + bytes_of(message) + "hello");
  dir_.write("cpu1", bytes_of(done));
  ImportSettings s;
  s.inputs = {dir_.path("cpu1"), dir_.path("cpu0")};
  const auto got = import("", s);
  ASSERT_TRUE(got) << got.error().message();
  ASSERT_EQ(got->records.size(), 1U);
  TraceRecord wanted = record(TraceOp::read, 51'200, 4096, 4'000);
  wanted.thread = 77ULL << 32 | 77;
  EXPECT_TRUE(got->records[0] == wanted);
  EXPECT_EQ(got->name(0), "8,16");
  EXPECT_EQ(got->facts.reordered, 0U) << "a file is in order for itself";
}

TEST_F(TraceImport, BlktraceOfTheOtherByteOrderIsTheSame) {
  BlktraceEvent e = event(7, 1'000);
  std::string swapped = bytes_of(e);
  std::size_t at = 0;
  for (const std::size_t width : {4U, 4U, 8U, 8U, 4U, 4U, 4U, 4U, 4U, 2U, 2U}) {
    std::reverse(swapped.begin() + static_cast<std::ptrdiff_t>(at),
                 swapped.begin() + static_cast<std::ptrdiff_t>(at + width));
    at += width;
  }
  const auto ours = import(bytes_of(e)), other = import(swapped);
  ASSERT_TRUE(ours && other);
  EXPECT_EQ(ours->records, other->records);
  EXPECT_EQ(ours->names, other->names);
}

// BLK_TC_* of linux/blktrace_api.h, by number.
TEST_F(TraceImport, BlktraceCategoriesAreOperationsAndFlags) {
  struct Said {
    TraceOp op;
    std::uint16_t flags;
  };
  const std::map<unsigned, Said> wanted{{0, {TraceOp::read, 0}},
                                        {1, {TraceOp::write, 0}},
                                        {2, {TraceOp::read, 0}},
                                        {3, {TraceOp::read, kTraceSync}},
                                        {8, {TraceOp::read, 0}},
                                        {9, {TraceOp::other, 0}},
                                        {13, {TraceOp::discard, 0}},
                                        {11, {TraceOp::read, kTraceReadahead}},
                                        {12, {TraceOp::read, kTraceMetadata}},
                                        {15, {TraceOp::read, kTraceFua}}};
  for (const auto& [category, said] : wanted) {
    BlktraceEvent e = event(7, 1000);
    e.action |= 1U << (16 + category);
    const auto got = import(bytes_of(e));
    ASSERT_TRUE(got) << category;
    ASSERT_EQ(got->records.size(), 1U) << category;
    EXPECT_EQ(got->records[0].op, said.op) << category;
    EXPECT_EQ(got->records[0].flags, said.flags) << category;
    EXPECT_FALSE(got->facts.start_unix_ns) << "its times count from a boot";
  }
}

TEST_F(TraceImport, BlktraceVersion2HasAWiderAction) {
  std::string bytes(64, '\0');
  const auto put = [&bytes](std::size_t at, auto value) {
    std::memcpy(bytes.data() + at, &value, sizeof value);
  };
  put(0, std::uint32_t{0x65617408});
  put(8, std::uint64_t{1'000});
  put(16, std::uint64_t{100});
  put(24, std::uint32_t{4096});
  put(28, std::uint32_t{77});
  put(32, std::uint64_t{7 | 1 << 16});
  put(40, std::uint32_t{8 << 20 | 16});
  TraceRecord wanted = record(TraceOp::read, 51'200, 4096);
  wanted.thread = 77ULL << 32 | 77;
  expect_one(bytes, "blktrace", wanted, "8,16");
}

TEST_F(TraceImport, VscsiHasTwoLayouts) {
  struct {
    std::uint32_t number = 1, bytes = 8192, segments = 1;
    std::uint16_t command = 0x2A, version = 1 << 8;
    std::uint64_t sector = 64, time_us = 5;
  } one;
  expect_one({reinterpret_cast<const char*>(&one), 32}, "vscsi",
             record(TraceOp::write, 64 * 512, 8192), "0");
  expect_one(support::Vscsi2().text(), "vscsi", record(TraceOp::read, 64 * 512, 8192, 300'000),
             "0");
}

TEST_F(TraceImport, LinesOfBlanksAndSeparatorsAreNoAccessesOfAnyFormat) {
  for (const TraceFormat& format : trace_formats()) {
    for (const char* line : {" \n", "\t\t \n", ",,,,,,,,,,\n", "0 \n", "# \n", "{}\n", "( )\n"}) {
      ImportSettings s = with_format(format.name);
      s.options.time_unit_ns = 1;
      s.skip_bad = 5;
      EXPECT_FALSE(import(line, s)) << format.name << ": " << line;
    }
  }
}

TEST_F(TraceImport, WhatIsOutOfOrderIsSortedAndCounted) {
  const auto got = import("1,W,0,512,30\n1,W,512,512,10\n1,W,1024,512,20\n");
  ASSERT_TRUE(got);
  EXPECT_EQ(got->facts.reordered, 2U);
  EXPECT_EQ(got->records[0].offset, 512U);
  EXPECT_EQ(got->records[2].time_ns, 20'000);
}

TEST_F(TraceImport, ABadLineIsNamedOrCounted) {
  const std::string text = "1,W,0,512,30\n1,W,0,512\n1,X,0,512,30\n1,W,0,512,31\n";
  expect_refused(text, "in:2: 4 fields", with_format("alibaba"));
  ImportSettings s = with_format("alibaba");
  s.skip_bad = 1;
  expect_refused(text, "in:3: \"X\" is no operation", s);
  s.skip_bad = 2;
  const auto got = import(text, s);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->facts.skipped, 2U);
  EXPECT_EQ(got->records.size(), 2U);
}

// Half of them have to be of the format, and what comes later tells nothing.
TEST_F(TraceImport, AFormatIsRecognisedByTwoHundredLines) {
  std::string text;
  for (int i = 0; i < 150; ++i) {
    text += "what is this\n1,W,0,512,30\n";
  }
  ImportSettings s;
  s.skip_bad = 1000;
  const auto got = import(text, s);
  ASSERT_TRUE(got) << got.error().message();
  EXPECT_EQ(got->facts.format, "alibaba");
  EXPECT_EQ(got->facts.skipped, 150U);
  expect_refused("what is this\n" + text, "--format", s);  // 101 of them are not
}

// Wherever it stands, and as the first, which tells the format.
TEST_F(TraceImport, ALineHasSixtyFourKibibytesAtMost) {
  const std::string shorter = "1,240840,3072,W,0.5\n";
  const std::string longest = "1,0,512,W,0.5," + std::string((64 << 10) - 14, 'x');
  for (const std::string& before : {std::string(), shorter, longest + "\n" + shorter}) {
    for (const std::string& after : {std::string(), "\n" + shorter}) {
      const auto got = import(before + longest + after);
      ASSERT_TRUE(got) << got.error().message();
      EXPECT_EQ(got->facts.format, "spc");
      expect_refused(before + longest + "x" + after, "64 KiB", with_format("spc"));
    }
  }
}

TEST_F(TraceImport, NumbersThatCannotBeAreRefused) {
  for (const char* line :
       {"1,W,-1,512,30\n", "1,W,99999999999999999999,512,30\n", "1,W,0,512,9223372036854775807\n",
        "1,W,0,,30\n", "1,W,0,512,\n", "x,W,0,512,30\n"}) {
    expect_refused(line, "in:1: \"", with_format("alibaba"));
  }
  expect_refused("0,36028797018963968,8,r,0.5\n", "address", with_format("spc"));
  expect_refused("0,1,8,r,0.1234567891\n", "time", with_format("spc"));
  expect_refused("1,hm,0,Read,0,512,0\n", "time", with_format("msr"));
}

TEST_F(TraceImport, CoarseTimesAreSpreadOnRequestAndMarked) {
  const std::string text = "5,0,8,0,1\n5,8,8,0,1\n5,16,8,0,1\n5,24,8,0,1\n6,0,8,0,1\n";
  EXPECT_EQ(import(text, with_format("tencent"))->records[3].time_ns, 0);
  ImportSettings s = with_format("tencent");
  s.spread = true;
  const auto got = import(text, s);
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->facts.synthetic_times);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(got->records[i].time_ns, static_cast<std::int64_t>(i) * 250'000'000);
    EXPECT_EQ(got->records[i].offset, i * 4096);
  }
  EXPECT_EQ(got->records[4].time_ns, 1'000'000'000);
}

TEST_F(TraceImport, AStopWritesNothing) {
  stop_ = true;
  std::string many;
  for (int i = 0; i < 5000; ++i) {
    many += "1,W,0,512,30\n";
  }
  const auto got = import(many);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().exit_code, Exit::interrupted);
  EXPECT_FALSE(std::filesystem::exists(dir_.path("out")));
}

}  // namespace
}  // namespace blksweep
