#include "trace/fio_iolog.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "base/rng.h"
#include "experiment/fio_twin.h"
#include "support/flat_catalog.h"

namespace blksweep {
namespace {

using support::FlatCatalog;

struct TempDirectory {
  std::string path;
  TempDirectory() {
    char name[] = "/tmp/blksweep-iolog-XXXXXX";
    path = ::mkdtemp(name);
  }
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;
  ~TempDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

std::string text_of(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

IologExport must_export(const FlatCatalog& files, const Plan& plan, const IologSettings& settings) {
  Result<IologExport> r = export_fio_iolog(files.view(), plan, settings);
  EXPECT_TRUE(r) << r.error().text;
  return r ? *std::move(r) : IologExport{};
}

TEST(FioIolog, WritesTheReadsInOrderAndClosesAFileAfterItsLastRead) {
  const TempDirectory dir;
  FlatCatalog files("/data");
  files.add("a", 8192);
  files.add("b", 5000);
  Plan plan;
  plan.reads = {{4096, 4096, 0},
                {0, 8192, 1},
                {0, 4096, 0},
                {0, 4096, kZeros},
                {1048576, 65536, kFromDevice}};
  const IologExport e =
      must_export(files, plan, {.directory = dir.path, .device_node = "/dev/loop9"});
  ASSERT_EQ(e.segments.size(), 1U);
  EXPECT_EQ(text_of(e.segments[0].path),
            "fio version 3 iolog\n"
            "0 /data/a add\n"
            "0 /data/a open\n"
            "0 /data/a read 4096 4096\n"
            "0 /data/b add\n"
            "0 /data/b open\n"
            "0 /data/b read 0 8192\n"
            "0 /data/b close\n"
            "0 /data/a read 0 4096\n"
            "0 /data/a close\n"
            "0 /dev/loop9 add\n"
            "0 /dev/loop9 open\n"
            "0 /dev/loop9 read 1048576 65536\n");
  EXPECT_EQ(e.reads, 4U);
  EXPECT_EQ(e.bytes, 4096U + 5000U + 4096U + 65536U);
  EXPECT_EQ(e.device_reads, 1U);
  EXPECT_EQ(e.past_end, 1U);
  EXPECT_EQ(e.largest_read, 65536U);
  EXPECT_EQ(e.segments[0].reads, 4U);
  EXPECT_EQ(e.segments[0].files, 3U);
}

TEST(FioIolog, ALinkCanStandForTheRoot) {
  const TempDirectory dir;
  FlatCatalog files("/data set");
  files.add("a", 4096);
  files.add("b c", 4096);
  Plan plan;
  plan.reads = {{0, 4096, 0}, {0, 4096, 1}};
  const IologExport e = must_export(files, plan, {.directory = dir.path, .root_link = "data"});
  ASSERT_EQ(e.segments.size(), 1U);
  EXPECT_EQ(text_of(e.segments[0].path).find("0 data/a add\n"), 20U);
  EXPECT_EQ(e.links, 1U) << "the root's own name is in no line";
  EXPECT_EQ(std::filesystem::read_symlink(dir.path + "/file1"), "data/b c");
}

TEST(FioIolog, ClippedReadsEndWithTheirFile) {
  const TempDirectory dir;
  FlatCatalog files("/data");
  files.add("b", 5000);
  Plan plan;
  plan.reads = {{0, 4096, 0}, {4096, 4096, 0}, {8192, 4096, 0}};
  const IologExport e = must_export(files, plan, {.directory = dir.path, .clip_to_file = true});
  EXPECT_EQ(e.bytes, 5000U);
  EXPECT_EQ(e.reads, 2U) << "a read behind the end has nothing to read";
  EXPECT_NE(text_of(e.segments[0].path).find("0 /data/b read 4096 904\n"), std::string::npos);
}

TEST(FioIolog, NamesWithWhiteSpaceGoThroughALink) {
  const TempDirectory dir;
  FlatCatalog files("/data");
  files.add("my file", 4096);
  files.add(std::string(300, 'x'), 4096);
  Plan plan;
  plan.reads = {{0, 4096, 0}, {0, 4096, 1}};
  const IologExport e = must_export(files, plan, {.directory = dir.path});
  EXPECT_EQ(e.links, 2U);
  EXPECT_EQ(std::filesystem::read_symlink(dir.path + "/file0"), "/data/my file");
  EXPECT_NE(text_of(e.segments[0].path).find("0 " + dir.path + "/file0 read 0 4096\n"),
            std::string::npos);
}

TEST(FioIolog, RefusesWhatItCannotName) {
  FlatCatalog files("/data");
  Plan plan;
  const Result<IologExport> r = export_fio_iolog(files.view(), plan, {.directory = "/tmp/a b"});
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().exit_code, Exit::usage);
  EXPECT_NE(r.error().text.find("'/tmp/a b'"), std::string::npos);

  const TempDirectory dir;
  plan.reads = {{0, 4096, kFromDevice}};
  EXPECT_FALSE(export_fio_iolog(files.view(), plan, {.directory = dir.path}));
}

// Replays the text as fio would and reports what was read, in order, and the most files open.
struct Replay {
  std::vector<Read> reads;
  std::size_t most_open = 0;
  bool legal = true;
};

Replay replay(const IologExport& e) {
  Replay out;
  for (const IologSegment& s : e.segments) {
    std::istringstream in(text_of(s.path));
    std::set<std::string> known, open;
    std::string line, last;
    std::getline(in, line);
    while (std::getline(in, line)) {
      std::istringstream words(line);
      std::string stamp, name;
      words >> stamp >> name >> last;
      if (last == "add") {
        out.legal &= known.insert(name).second;
      } else if (last == "open") {
        out.legal &= known.contains(name) && open.insert(name).second;
      } else if (last == "close") {
        out.legal &= open.erase(name) == 1;
      } else {
        Read r{};
        words >> r.offset >> r.length;
        r.source = static_cast<std::uint32_t>(std::stoul(name.substr(name.rfind('f') + 1)));
        out.legal &= open.contains(name);
        out.reads.push_back(r);
      }
      out.most_open = std::max(out.most_open, open.size());
    }
    out.legal &= last == "read" && known.size() == s.files;
  }
  return out;
}

// With the longest names that files of an iolog have it may be no longer than fio takes.
TEST(FioIolog, ADirectoryLeavesRoomForTheNamesInIt) {
  constexpr std::size_t kLongest = 255 - 32;
  const TempDirectory dir;
  FlatCatalog files("/data");
  files.add("a", 4096);
  Plan plan;
  plan.reads = {{0, 4096, 0}};
  for (const std::size_t length : {kLongest, kLongest + 1}) {
    const std::string path = dir.path + "/" + std::string(length - dir.path.size() - 1, 'd');
    std::filesystem::create_directory(path);
    const Result<IologExport> made = export_fio_iolog(files.view(), plan, {.directory = path});
    EXPECT_EQ(made.has_value(), length == kLongest) << length;
  }
}

TEST(FioIolog, KeepsOrderAndBoundsWhateverTheLimits) {
  FlatCatalog files("/data");
  for (int i = 0; i < 60; ++i) {
    files.add("f" + std::to_string(i), 65536);
  }
  Rng rng(7);
  Plan plan;
  for (int i = 0; i < 400; ++i) {
    plan.reads.push_back({rng.below(16) * 4096, 4096, static_cast<std::uint32_t>(rng.below(60))});
  }
  for (const std::uint32_t limit : {1U, 2U, 7U, 1000U}) {
    const TempDirectory dir;
    const IologExport e = must_export(
        files, plan, {.directory = dir.path, .segment_files = 20 * limit, .open_files = limit});
    const Replay got = replay(e);
    EXPECT_TRUE(got.legal) << limit;
    EXPECT_LE(got.most_open, limit);
    ASSERT_EQ(got.reads.size(), plan.reads.size());
    for (std::size_t i = 0; i < got.reads.size(); ++i) {
      ASSERT_EQ(got.reads[i].offset, plan.reads[i].offset);
      ASSERT_EQ(got.reads[i].source, plan.reads[i].source);
    }
    for (const IologSegment& s : e.segments) {
      EXPECT_LE(s.files, 20 * limit);
    }
  }
}

// A program that answers as fio does, by a text of ours, where buffers need not be registered.
class TwinOfText : public testing::Test {
 protected:
  TwinOfText() {
    files_.add("a", 4096);
    plan_.order = {0};
    plan_.reads = {{0, 4096, 0}};
    ::setenv("BLKSWEEP_PATH", (dir_.path + ":/usr/bin:/bin").c_str(), 1);
  }
  ~TwinOfText() override { ::unsetenv("BLKSWEEP_PATH"); }
  Result<FioResult> run(const std::string& answer, bool registers = true) {
    const std::string fio = dir_.path + "/fio";
    std::ofstream(dir_.path + "/answer") << answer;
    std::ofstream(fio) << "#!/bin/sh\n[ \"$1\" = --version ] && echo fio-3.33 && exit 0\n"
                       << (registers ? "" : "grep -q fixedbufs twin.fio && exit 1\n")
                       << "sleep 0.13\nexec cp " << dir_.path << "/answer out.json\n";
    std::filesystem::permissions(fio, std::filesystem::perms::all);
    return run_fio_twin(files_.view(), plan_, {.temp_dir = dir_.path});
  }
  TempDirectory dir_;
  FlatCatalog files_{"/data"};
  Plan plan_;
};

constexpr const char* kTwoJobs =
    R"({"jobs": [{"usr_cpu": 10.0, "sys_cpu": 15.0, "job_runtime": 2000, "error": 0,
      "read": {"total_ios": 100, "runtime": 101, "io_bytes": 409600, "short_ios": 0}},
     {"usr_cpu": 50.0, "sys_cpu": 0.0, "job_runtime": 400, "error": 0,
      "read": {"total_ios": 300, "runtime": 20, "io_bytes": 4096, "short_ios": 2}}]})";

// A quarter of 2 s and half of 400 ms; of each runtime half a millisecond is taken off.
TEST_F(TwinOfText, JobsAreAddedUp) {
  const auto r = run(kTwoJobs);
  ASSERT_TRUE(r) << r.error().text;
  EXPECT_EQ(r->record.cpu_ns, 700'000'000);
  EXPECT_EQ(r->record.runtime_ns, 120'000'000);
  EXPECT_EQ(r->record.read_bytes, 413'696U);
  EXPECT_EQ(r->reads, 400U);
  EXPECT_EQ(r->short_reads, 2U);
  EXPECT_NEAR(r->record.reads_per_s, 400 / 0.12, 1e-6);
  EXPECT_TRUE(r->warnings.empty());
}

TEST_F(TwinOfText, WhereBuffersCannotBeRegisteredItRunsWithoutAndSaysSo) {
  const auto r = run(kTwoJobs, false);
  ASSERT_TRUE(r) << r.error().text;
  EXPECT_EQ(r->record.cpu_ns, 700'000'000);
  ASSERT_EQ(r->warnings.size(), 1U);
  EXPECT_TRUE(r->warnings[0].starts_with("fio twin: ran without registered buffers"));
  EXPECT_FALSE(run("no answer"));
}

TEST_F(TwinOfText, OneThatReadForLongerThanItWasThereIsNone) {
  std::string microseconds = kTwoJobs;
  microseconds.replace(microseconds.find("101"), 3, "101000");
  const auto r = run(microseconds);
  ASSERT_FALSE(r);
  EXPECT_NE(r.error().text.find("read for 101 s, and was there for"), std::string::npos)
      << r.error().text;
}

}  // namespace
}  // namespace blksweep
