// Exports: what a format can say comes back through the import of it.
#include "trace/export.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <utility>

#include "base/rng.h"
#include "os/file/file.h"
#include "support/trace_rig.h"
#include "trace/import/csv.h"

namespace blksweep {
namespace {

using support::TraceImport;

class TraceExport : public TraceImport {
 protected:
  auto import_again(const char* name = "exported") {
    ImportSettings s;
    s.inputs = {dir_.path(name)};
    return import("", s);
  }
};

TEST_F(TraceExport, TakesThePlaceOfOneInItsFormatAndNothingElse) {
  import("1,R,0,8192,31\n").value();
  constexpr std::array kFormats = {ExportFormat::csv, ExportFormat::iolog, ExportFormat::blktrace};
  for (const ExportFormat old : kFormats) {
    for (const ExportFormat format : kFormats) {
      const std::string path = dir_.path("exported");
      std::filesystem::remove(path);
      for (const ExportFormat next : {old, format}) {
        auto reader = TraceReader::open(dir_.path("out"));
        EXPECT_EQ(export_trace(*reader, next, path, stop_).has_value(), next == old);
      }
    }
  }
}

TEST_F(TraceExport, ComesBackFromEachFormat) {
  const std::string text = "1,W,4096,512,30\n1,R,0,8192,31\n2,R,512,512,31\n1,R,1048576,65536,90\n";
  const auto first = import(text);
  ASSERT_TRUE(first);
  for (const auto& [format, name] : {std::pair{ExportFormat::csv, "csv"},
                                     {ExportFormat::iolog, "iolog"},
                                     {ExportFormat::blktrace, "blktrace"}}) {
    import(text).value();
    auto reader = TraceReader::open(dir_.path("out"));
    const auto report = export_trace(*reader, format, dir_.path(name), stop_);
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(report->records, 4U);
    EXPECT_EQ(report->left_out, 0U);
    const auto again = import_again(name);
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_EQ(again->records, first->records);
    if (format != ExportFormat::blktrace) {  // there, volumes are device numbers
      EXPECT_EQ(again->names, first->names);
    }
  }
}

// Numbers that fit stay; what is none, or too large, gets the minor of its turn.
TEST_F(TraceExport, BlktraceKeepsDevicesAndNumbersOtherVolumes) {
  std::string text;
  for (const char* device : {"8,16", "4095,1048575", "4096,1", "9,1048576"}) {
    text += "  " + std::string(device) + "   1   1   0.000000000   697  D   R 0 + 8 [cat]\n";
  }
  const auto first = import(text);
  ASSERT_TRUE(first);
  auto reader = TraceReader::open(dir_.path("out"));
  const auto report = export_trace(*reader, ExportFormat::blktrace, dir_.path("exported"), stop_);
  ASSERT_TRUE(report) << report.error().message();
  const auto again = import_again();
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(again->names, (std::vector<std::string>{"8,16", "4095,1048575", "259,2", "259,3"}));
  EXPECT_EQ(again->records, first->records) << "with the process of each";
}

TEST_F(TraceExport, IologHasWhatMoved) {
  const std::string head = csv_header(TraceKind::file);
  ASSERT_TRUE(import(head +
                     "\n0,read,0,131072,5000,,1,read,0,a\n1000,read,5000,131072,0,,1,read,0,a\n"
                     "2000,read,4096,512,,,1,pread,0,a\n"));
  auto reader = TraceReader::open(dir_.path("out"));
  const auto report = export_trace(*reader, ExportFormat::iolog, dir_.path("exported"), stop_);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->left_out, 1U);
  EXPECT_EQ(
      whole_text(dir_.path("exported")),
      "fio version 3 iolog\n0 a add\n0 a open\n0 a read 0 5000\n2 a read 4096 512\n2 a close\n");
}

// Of blkparse's text and names: a number that is another volume's by now, or was, is not theirs.
TEST_F(TraceExport, BlktraceGivesNoNumberToTwoVolumes) {
  std::string text;
  for (const char* device : {"4096,1", "259,0", "259,3", "008,16", "8,16", "4096,2"}) {
    text += "  " + std::string(device) + "   1   1   0.000000000   697  D   R 0 + 8 [cat]\n";
  }
  ASSERT_TRUE(import(text));
  auto reader = TraceReader::open(dir_.path("out"));
  ASSERT_TRUE(export_trace(*reader, ExportFormat::blktrace, dir_.path("exported"), stop_));
  const auto again = import_again();
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(again->names,
            (std::vector<std::string>{"259,0", "259,1", "259,3", "8,16", "259,4", "259,5"}));
}

// The low half of each event's action: 1 is queued, 7 issued, 8 completed.
std::vector<int> actions_of(const std::string& blktrace) {
  std::vector<int> actions;
  for (std::size_t at = 0; at < blktrace.size(); at += 48) {
    actions.push_back(static_cast<unsigned char>(blktrace[at + 28]));
  }
  return actions;
}

// fio's reader takes what is queued, blkparse's tools what is issued.
TEST_F(TraceExport, BlktraceQueuesIssuesAndCompletesEachRequest) {
  ASSERT_TRUE(import("1,W,4096,512,30\n1,R,0,8192,31\n"));
  auto reader = TraceReader::open(dir_.path("out"));
  ASSERT_TRUE(export_trace(*reader, ExportFormat::blktrace, dir_.path("exported"), stop_));
  EXPECT_EQ(actions_of(whole_text(dir_.path("exported"))), (std::vector<int>{1, 7, 1, 7}));
}

TEST_F(TraceExport, BlktraceKeepsWhatARequestIsFor) {
  const std::vector<std::uint16_t> flags{kTraceSync, kTraceReadahead, kTraceMetadata, kTraceFua,
                                         kTraceSync | kTraceFua};
  std::string lines = csv_header(TraceKind::block) + "\n";
  for (std::size_t i = 0; i < flags.size(); ++i) {
    TraceRecord r{.time_ns = 1000 * static_cast<std::int64_t>(i), .bytes = 512};
    r.op = TraceOp::write;
    r.flags = flags[i];
    lines += csv_line(r, "8,0");
  }
  ASSERT_TRUE(import(lines));
  auto reader = TraceReader::open(dir_.path("out"));
  ASSERT_TRUE(export_trace(*reader, ExportFormat::blktrace, dir_.path("exported"), stop_));
  const auto again = import_again();
  ASSERT_TRUE(again) << again.error().message();
  ASSERT_EQ(again->records.size(), flags.size());
  for (std::size_t i = 0; i < flags.size(); ++i) {
    EXPECT_EQ(again->records[i].flags, flags[i]) << i;
  }
}

TEST(CsvLine, QuotesOnlyNamesThatNeedIt) {
  Rng rng(11);
  const std::string letters = "xy /,\"\\\n\r";
  for (int i = 0; i < 2000; ++i) {
    std::string name;
    for (std::uint64_t n = rng.below(5); n > 0; --n) {
      name += letters[rng.below(letters.size())];
    }
    const bool needs = name.find_first_of(",\"\\\n\r") != std::string::npos ||
                       name.starts_with(' ') || name.ends_with(' ');
    const std::string line = csv_line({}, name);
    EXPECT_EQ(line.ends_with("," + name + "\n"), !needs) << line;
    EXPECT_EQ(line.ends_with("\"\n"), needs) << line;
  }
}

TEST_F(TraceExport, CsvKeepsNamesOfAllKinds) {
  const std::vector<std::string> names{"plain",       "a,b",       "say \"x\"", " blank ",
                                       "back\\slash", "line\nend", "",          "\xff\xfe"};
  TraceFacts facts;
  facts.kind = TraceKind::file;
  facts.format = "csv";
  std::string bytes;
  auto writer = TraceWriter::begin(
      [&bytes](std::span<const std::byte> b) {
        bytes.append(reinterpret_cast<const char*>(b.data()), b.size());
        return Result<>();
      },
      facts);
  for (const std::string& name : names) {
    TraceRecord r;
    r.place = writer->place(name).value();
    r.returned = 5;
    r.form = CallForm::preadv;
    r.thread = ~0ULL;
    r.flags = kTraceInexact;
    ASSERT_TRUE(writer->add(r));
  }
  ASSERT_TRUE(writer->finish(facts));
  dir_.write("t", bytes);
  auto reader = TraceReader::open(dir_.path("t"));
  ASSERT_TRUE(export_trace(*reader, ExportFormat::csv, dir_.path("exported"), stop_));
  const auto again = import_again();
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(again->facts.kind, TraceKind::file);
  EXPECT_EQ(again->names, names);
  EXPECT_EQ(again->records, read(dir_.path("t"))->records);
}

}  // namespace
}  // namespace blksweep
