// What a line of a foreign trace says, field by field: whichever is wrong is the one that is named.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/rng.h"
#include "support/trace_rig.h"
#include "trace/import/csv.h"
#include "trace/import/fields.h"

namespace blksweep {
namespace {

using support::TraceImport;

struct CheckedLine {
  const char* format;
  const char* separator;
  std::vector<std::string> fields;
  std::vector<std::size_t> checked;  // of the fields
};

std::vector<CheckedLine> checked_lines() {
  return {{"msr", ",", {"128166372003061629", "hm", "0", "Read", "0", "512", "7"}, {0, 3, 4, 5}},
          {"alibaba", ",", {"1", "W", "0", "512", "30"}, {0, 1, 2, 3, 4}},
          {"tencent", ",", {"5", "1", "8", "0", "7"}, {0, 1, 2, 3, 4}},
          {"systor", ",", {"5.0", "0.1", "R", "4", "0", "512"}, {0, 1, 2, 4, 5}},
          {"spc", ",", {"1", "8", "512", "W", "0.5"}, {0, 1, 2, 3, 4}},
          {"fiu", " ", {"9", "4", "a b", "8", "8", "W", "6", "0", "md5"}, {0, 1, 3, 4, 5}},
          {"hfplayer", ",", {"12.5", "3", "8192", "4096", "1"}, {0, 2, 3, 4}},
          {"disksim", " ", {"10", "0", "16", "8", "1"}, {0, 1, 2, 3, 4}}};
}

TEST_F(TraceImport, TheFieldThatIsWrongIsTheOneThatIsNamed) {
  for (const CheckedLine& line : checked_lines()) {
    ImportSettings s = with_format(line.format);
    s.options.time_unit_ns = 1000;
    EXPECT_TRUE(import(fmt::format("{}\n", fmt::join(line.fields, line.separator)), s))
        << line.format;
    for (const std::size_t at : line.checked) {
      std::vector<std::string> fields = line.fields;
      fields[at] = "wrong";
      expect_refused(fmt::format("{}\n", fmt::join(fields, line.separator)), "\"wrong\" is no ", s);
    }
  }
}

TEST_F(TraceImport, ATimeIsReadToTheNanosecond) {
  Rng rng(3);
  for (int i = 0; i < 2000; ++i) {
    const auto ns = static_cast<std::int64_t>(rng.next() >> (2 + rng.below(60)));
    const std::string text = fmt::format("{}.{:09}", ns / kSecond, ns % kSecond);
    EXPECT_EQ(decimal_ns(text, kSecond), ns) << text;
  }
}

TEST_F(TraceImport, AllThatASignedNumberHoldsIsAnAddress) {
  EXPECT_EQ(scaled("9223372036854775807", 1), std::uint64_t{INT64_MAX});
  EXPECT_FALSE(scaled("9223372036854775808", 1));
  EXPECT_EQ(scaled("18014398509481983", 512), std::uint64_t{INT64_MAX} - 511);
  EXPECT_FALSE(scaled("18014398509481984", 512));
  EXPECT_FALSE(scaled("18446744073709551615", 512)) << "more than 64 bits";
}

TEST_F(TraceImport, NamesComeBackFromCsvAsTheyWere) {
  constexpr std::string_view kLetters = ",\"\n\r\\ nra";
  Rng rng(4);
  std::vector<std::string> names;
  std::string text = csv_header(TraceKind::file) + "\n";
  for (int i = 0; i < 1000; ++i) {
    std::string& name = names.emplace_back("x");
    for (std::uint64_t n = rng.below(8); n > 0; --n) {
      name += kLetters[rng.below(kLetters.size())];
    }
    text += csv_line(support::record(TraceOp::read, 0, 1), name);
  }
  const auto got = import(text);
  ASSERT_TRUE(got) << got.error().message();
  ASSERT_EQ(got->records.size(), names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(got->name(i), names[i]);
  }
}

TEST_F(TraceImport, QuotesOfCsvCloseOnceAndAtTheEnd) {
  const std::string head = csv_header(TraceKind::file) + "\n0,read,0,1,,,,,,";
  for (const char* name : {"\"a", "\"a\"b", "\"a\"b\"", "\"a\" ", "\"a\\\""}) {
    expect_refused(head + name + "\n", "the quotes of the name do not close", with_format("csv"));
  }
  EXPECT_EQ(import(head + "\"a\"\n").value().name(0), "a");
}

TEST_F(TraceImport, AnIologHasPlacesOfWhatHasThem) {
  const auto got = import(
      "fio version 3 iolog\n5 /d/a trim 7 4096\n6 /d/a sync\n7 /d/a datasync\n8 /d/a write 9 1\n");
  ASSERT_TRUE(got) << got.error().message();
  ASSERT_EQ(got->records.size(), 4U);
  EXPECT_EQ(got->records[0].offset, 7U);
  EXPECT_EQ(got->records[0].bytes, 4096U);
  EXPECT_EQ(got->records[1].op, TraceOp::flush);
  EXPECT_EQ(got->records[2].op, TraceOp::flush);
  EXPECT_EQ(got->records[3].offset, 9U);
  for (const char* action : {"read", "write", "trim"}) {
    expect_refused(fmt::format("fio version 3 iolog\n5 /d/a {}\n", action), ":2: an offset",
                   with_format("iolog"));
  }
}

// The letters of blktrace's rwbs, in its order: flush, operation, FUA, read-ahead, sync, metadata.
TEST_F(TraceImport, LettersOfBlkparseAreOperationsAndFlags) {
  struct Said {
    const char* rwbs;
    TraceOp op;
    int flags;
  };
  for (const Said& said : std::initializer_list<Said>{
           {"R", TraceOp::read, 0},
           {"RA", TraceOp::read, kTraceReadahead},
           {"RM", TraceOp::read, kTraceMetadata},
           {"RSM", TraceOp::read, kTraceSync | kTraceMetadata},
           {"W", TraceOp::write, 0},
           {"WFS", TraceOp::write, kTraceFua | kTraceSync},
           {"FW", TraceOp::write, 0},
           {"FWFSM", TraceOp::write, kTraceFua | kTraceSync | kTraceMetadata},
           {"D", TraceOp::discard, 0},
           {"DS", TraceOp::discard, kTraceSync},
           {"F", TraceOp::flush, 0},
           {"FS", TraceOp::flush, kTraceSync},
           {"FF", TraceOp::flush, kTraceFua},
           {"FFS", TraceOp::flush, kTraceFua | kTraceSync},
           {"N", TraceOp::other, 0}}) {
    const auto got = import(fmt::format("8,0 1 1 0.5 697 D {} 2048 + 8 [cat]\n", said.rwbs));
    ASSERT_TRUE(got) << said.rwbs << ": " << got.error().message();
    EXPECT_EQ(got->records.at(0).op, said.op) << said.rwbs;
    EXPECT_EQ(got->records.at(0).flags, said.flags) << said.rwbs;
  }
  expect_refused("8,0 1 1 0.5 697 D X 2048 + 8 [cat]\n", "\"X\" is no operation",
                 with_format("blkparse"));
}

// Of a command that is no access blkparse prints two lines: one request is left out, not two.
TEST_F(TraceImport, ACommandWithoutAnAddressIsLeftOutOnce) {
  const auto got = import(
      "8,0 1 1 0.1 697 D N 36 (12 00 00 00 24 00 ..) [cat]\n"
      "8,0 1 2 0.2 0 C N (12 00 00 00 24 00 ..) [0]\n"
      "8,0 1 3 0.3 697 D R 2048 + 8 [cat]\n",
      with_format("blkparse"));
  ASSERT_TRUE(got) << got.error().message();
  EXPECT_EQ(got->records.size(), 1U);
  EXPECT_NE(std::ranges::find(got->facts.notes, "1 requests without an address are left out"),
            got->facts.notes.end());
}

// Below the steps of the clock a call has no length.
TEST_F(TraceImport, ACallMayEndWhenItBeginsButNotBefore) {
  const std::string dxt = "# DXT, file_id: 7, file_name: /d/a\n";
  EXPECT_EQ(import(dxt + " X_POSIX 0 read 0 0 1024 0.5 0.5\n").value().records.at(0).latency_ns, 0);
  expect_refused(dxt + " X_POSIX 0 read 0 0 1024 0.5 0.4\n", "not what DXT has",
                 with_format("darshan"));
  EXPECT_EQ(import("0.5 0.5 read 0 0 ( /d/a 0x7f 64 )\n").value().records.at(0).latency_ns, 0);
  expect_refused("0.5 0.4 read 0 0 ( /d/a 0x7f 64 )\n", "\"0.4\" is no time",
                 with_format("recorder"));
}

TEST_F(TraceImport, NoRankOfRecorderIsTheThreadThatIsNotKnown) {
  EXPECT_EQ(import("0.1 0.2 read 0 0 ( /d/a 0x7f 64 )\n").value().records.at(0).thread, 1ULL << 32);
}

TEST_F(TraceImport, OnlyTimesThatCountFrom1970SayWhenATraceBegan) {
  for (const CheckedLine& line : checked_lines()) {
    const std::string_view name = line.format;
    ImportSettings s = with_format(line.format);
    s.options.time_unit_ns = 1000;
    const bool told = name == "msr" || name == "alibaba" || name == "tencent" || name == "systor";
    const auto got = import(fmt::format("{}\n", fmt::join(line.fields, line.separator)), s);
    EXPECT_EQ(got.value().facts.start_unix_ns.has_value(), told) << name;
  }
  const std::string ours = csv_header(TraceKind::block) + "\n" + csv_line({.bytes = 512}, "8,0");
  EXPECT_FALSE(import(ours).value().facts.start_unix_ns);
}

TEST_F(TraceImport, WaitsOfAnIologAddUpToATimeThatThereIs) {
  ImportSettings s = with_format("iolog");
  s.options.time_unit_ns = 1'000;
  const std::string half = "a wait 4611686018427387\na read 0 512\n";  // of 2^63 ns
  const std::string two = "fio version 2 iolog\n" + half + half;
  EXPECT_TRUE(import(two, s));
  expect_refused(two + half, "time to wait", s);
}

TEST_F(TraceImport, EventsOfBlkparseHaveNumbersThatCanBe) {
  for (const char* wrong : {"x D R 2048 + 8", "1 D R 99999999999999999 + 8", "1 D R 2048 + x",
                            "1 D R 2048 + 99999999999999999"}) {
    expect_refused(fmt::format("8,0 1 1 0.5 {} [cat]\n", wrong),
                   "an address, a size or a process is no number", with_format("blkparse"));
  }
}

TEST_F(TraceImport, VscsiHasSectorsAndTimesThatFitIntoOurs) {
  const auto of = [](std::uint64_t sector, std::uint64_t time_us) {
    support::Vscsi2 two;
    two.sector = sector;
    two.time_us = time_us;
    return two.text();
  };
  constexpr std::uint64_t kMostSectors = INT64_MAX / 512, kMostMicros = INT64_MAX / 1000;
  EXPECT_EQ(import(of(kMostSectors, 5)).value().records.at(0).offset, kMostSectors * 512);
  EXPECT_TRUE(import(of(64, kMostMicros)));
  expect_refused(of(kMostSectors + 1, 5), "a time or an address is out of range");
  expect_refused(of(64, kMostMicros + 1), "a time or an address is out of range");
  EXPECT_EQ(import(of(1, 5) + of(2, 6) + of(3, 7)).value().records.size(), 3U);
}

// Read as a number, its head is the size of a dictionary of .lzma, which has no magic.
TEST_F(TraceImport, VscsiThatBeginsWithItsCommand0IsNoCompressedFile) {
  support::Vscsi2 two;
  two.number = 0;
  const auto got = import(two.text());
  ASSERT_TRUE(got) << got.error().text;
  EXPECT_EQ(got->records.at(0).offset, 64U * 512);
}

TEST_F(TraceImport, WithoutAStopTheLastIsTaken) {
  std::string many;
  for (int i = 0; i < 9000; ++i) {
    many += "1,W,0,512,30\n";
  }
  EXPECT_EQ(import(many).value().records.size(), 9000U);
}

// A descriptor whose opening was seen tells where it reads; of one that was not only the first
// bytes are known.
TEST_F(TraceImport, DfTracerCountsTheReadsWhoseOffsetItCannotTell) {
  const auto call = [](const char* name, int fd, const char* more) {
    return fmt::format(R"({{"name":"{}","cat":"POSIX","pid":9,"tid":9,"ts":110,"dur":5,"ph":"X",)"
                       R"("args":{{"fname":"/d/{}"{}}}}})"
                       "\n",
                       name, fd, more);
  };
  const std::string opened = call("open64", 3, R"(,"ret":3)");
  const std::string known = call("read", 3, R"(,"fd":3,"count":8,"ret":8)");
  const std::string unknown = call("read", 4, R"(,"fd":4,"count":8,"ret":8)");
  EXPECT_EQ(import(opened + known + known).value().facts.notes.size(), 1U) << "the dialect";
  const auto got = import(opened + known + unknown + known + unknown);
  const std::string note = got.value().facts.notes.back();
  EXPECT_TRUE(note.starts_with("2 reads have an offset")) << note;
}

}  // namespace
}  // namespace blksweep
