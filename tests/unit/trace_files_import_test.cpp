// Traces of files, as training and HPC programs leave them: Darshan, Recorder, DFTracer, CSV.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/trace_rig.h"

namespace blksweep {
namespace {

using support::record;
using support::TraceImport;

constexpr const char* kDarshan =
    "# darshan log version: 3.41\n# start_time: 1700000000\n# DXT_POSIX module data\n"
    "# DXT, file_id: 7, file_name: /d/a b.h5\n# DXT, rank: 0, hostname: n1\n"
    "# Module    Rank  Wt/Rd  Segment          Offset       Length    Start(s)      End(s)  [OST]\n"
    " X_POSIX       0  write        0               0         1024      0.5000      0.5010\n"
    " X_MPIIO       0   read        0            4096         1024      0.2000      0.2030\n"
    " X_POSIX       0   read        0            4096         1024      0.2500      0.2530  [  "
    "3]\n";

TEST_F(TraceImport, DarshanGivesWritesFirstAndNamesWithBlanks) {
  const auto got = import(kDarshan);
  ASSERT_TRUE(got) << got.error().message();
  EXPECT_EQ(got->facts.format, "darshan");
  EXPECT_EQ(got->facts.kind, TraceKind::file);
  EXPECT_EQ(got->facts.quantum_ns, 100'000);
  EXPECT_EQ(got->facts.start_unix_ns, 1'700'000'000'250'000'000);
  EXPECT_EQ(got->facts.notes.size(), 1U) << "rows of MPI-IO";
  ASSERT_EQ(got->records.size(), 2U);
  TraceRecord wanted = record(TraceOp::read, 4096, 1024, 3'000'000);
  wanted.thread = 2ULL << 32;
  EXPECT_TRUE(got->records[0] == wanted);
  EXPECT_EQ(got->records[1].op, TraceOp::write);
  EXPECT_EQ(got->name(0), "/d/a b.h5");
  EXPECT_FALSE(got->facts.incomplete);
  const auto warned = import(std::string(kDarshan) + "# *WARNING*: incomplete data!\n");
  ASSERT_TRUE(warned);
  EXPECT_TRUE(warned->facts.incomplete);
}

TEST_F(TraceImport, RecorderFollowsCursorsAndSaysThatTheyAreInexact) {
  const auto got = import(
      "0.000100 0.000150 open 0 0 ( /d/a 0 0 )\n"
      "0.000200 0.000250 read 0 0 ( /d/a 0x7f 4096 )\n"
      "0.000300 0.000350 read 1 0 ( /d/a 0x7f 100 )\n"
      "0.000360 0.000370 MPI_File_read_at 0 1 ( /d/a 0 0 )\n"
      "0.000400 0.000450 lseek 0 0 ( /d/a 512 SEEK_SET )\n"
      "0.000500 0.000550 readv 0 0 ( /d/a 256 2 )\n"
      "0.000600 0.000650 pread 0 0 ( /d/a 0x7f 64 9999 )\n"
      "0.000700 0.000750 fread 0 0 ( 0x7f 8 16 /d/b )\n");
  ASSERT_TRUE(got) << got.error().message();
  EXPECT_EQ(got->facts.format, "recorder");
  EXPECT_EQ(got->facts.quantum_ns, 1'000);
  ASSERT_EQ(got->records.size(), 5U);
  const std::vector<std::uint64_t> offsets{0, 4096, 512, 9999, 0}, bytes{4096, 100, 256, 64, 128};
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(got->records[i].offset, offsets[i]) << i;
    EXPECT_EQ(got->records[i].bytes, bytes[i]) << i;
    EXPECT_EQ(got->records[i].flags, i == 3 ? 0 : kTraceInexact) << i;
  }
  EXPECT_EQ(got->name(4), "/d/b");
  EXPECT_EQ(got->records[3].form, CallForm::pread);
}

// Links and folders are read, too, but no bytes of a file.
TEST_F(TraceImport, RecorderTakesCallsThatMoveBytesOfFiles) {
  const auto got = import(
      "0.1 0.2 read 0 0 ( /d/a 0x7f 4096 )\n"
      "0.3 0.4 readlink 0 0 ( /d/link 0x7f 4095 )\n"
      "0.3 0.4 readlinkat 0 0 ( /d link 0x7f 4095 )\n"
      "0.5 0.6 readdir 0 0 ( 0x7f )\n"
      "0.7 0.8 pread64 0 0 ( /d/a 0x7f 64 9999 )\n"
      "0.9 1.0 pwritev2 0 0 ( /d/a 256 2 512 )\n");
  ASSERT_TRUE(got) << got.error().message();
  EXPECT_EQ(got->names, std::vector<std::string>{"/d/a"});
  ASSERT_EQ(got->records.size(), 3U);
  EXPECT_EQ(got->records[1].offset, 9999U);
  EXPECT_EQ(got->records[2].op, TraceOp::write);
  EXPECT_EQ(got->records[2].bytes, 256U);
}

TEST_F(TraceImport, RecorderRefusesCallsWithoutAllTheirArguments) {
  for (const char* call : {"read 0 0 ( /d/a 0x7f )", "pread 0 0 ( /d/a 0x7f 64 )",
                           "fread 0 0 ( 0x7f 8 16 )", "readv 0 0 ( /d/a 256 )"}) {
    expect_refused(fmt::format("0.1 0.2 read 0 0 ( /d/a 0x7f 64 )\n0.3 0.4 {}\n", call),
                   "too few arguments", with_format("recorder"));
  }
}

TEST_F(TraceImport, RanksOfRecorderAreThreadsOfTheirOwn) {
  dir_.write("0.txt", "0.1 0.2 read 0 0 ( /d/a 0x7f 4096 )\n");
  dir_.write("1.txt", "0.3 0.4 read 0 0 ( /d/a 0x7f 4096 )\n");
  ImportSettings s;
  s.inputs = {dir_.path("0.txt"), dir_.path("1.txt")};
  const auto got = import("", s);
  ASSERT_TRUE(got) << got.error().message();
  EXPECT_NE(got->records[0].thread, got->records[1].thread);
  EXPECT_EQ(got->records[1].offset, 0U) << "a cursor a rank";
}

// Dialect 1: names in the events, numbers as texts, a descriptor with each read.
TEST_F(TraceImport, DfTracerFollowsEachDescriptor) {
  const auto got = import(
      "[\n"
      R"({"id":1,"name":"open64","cat":"POSIX","pid":"9","tid":"9","ts":"100","dur":"2","ph":"X","args":{"fname":"/d/a","ret":"3"}})"
      ",\n"
      R"({"id":2,"name":"open64","cat":"POSIX","pid":"9","tid":"9","ts":"101","dur":"2","ph":"X","args":{"fname":"/d/a","ret":"4"}})"
      "\n"
      R"({"id":3,"name":"read","cat":"POSIX","pid":"9","tid":"9","ts":"110","dur":"5","ph":"X","args":{"fname":"/d/a","fd":"3","count":"4096","ret":"1000"}})"
      "\n"
      R"({"id":4,"name":"read","cat":"POSIX","pid":"9","tid":"9","ts":"120","dur":"5","ph":"X","args":{"fname":"/d/a","fd":"4","count":"10","ret":"10"}})"
      "\n"
      R"({"id":5,"name":"read","cat":"POSIX","pid":"9","tid":"9","ts":"130","dur":"5","ph":"X","args":{"fname":"/d/a","fd":"3","count":"10","ret":"10"}})"
      "\n"
      R"({"id":6,"name":"read","cat":"POSIX","pid":"9","tid":"9","ts":"140","dur":"5","ph":"X","args":{"fname":"/d/a","fd":"3","count":"10","ret":"-1"}})"
      "\n]\n");
  ASSERT_TRUE(got) << got.error().message();
  EXPECT_EQ(got->facts.format, "dftracer");
  EXPECT_EQ(got->facts.start_unix_ns, 110'000);
  ASSERT_EQ(got->records.size(), 3U) << "a call that failed is none";
  EXPECT_EQ(got->records[0].bytes, 4096U);
  EXPECT_EQ(got->records[0].returned, 1000);
  EXPECT_EQ(got->records[0].latency_ns, 5'000);
  EXPECT_EQ(got->records[1].offset, 0U) << "the other descriptor";
  EXPECT_EQ(got->records[2].offset, 1000U);
  EXPECT_EQ(got->records[2].flags, 0);
  EXPECT_EQ(got->names, std::vector<std::string>{"/d/a"});
}

// A call of process 9 on /d/a.
std::string dftracer_call(const char* name, const char* rest) {
  return fmt::format(
      R"({{"name":"{}","cat":"POSIX","pid":9,"tid":9,"ts":100,"dur":2,"ph":"X","args":{{"fname":"/d/a",{}}}}})"
      "\n",
      name, rest);
}

// As the tracer has them: what a link leads to is read without a result.
TEST_F(TraceImport, DfTracerTakesCallsThatMoveBytesOfFiles) {
  const auto got = import(dftracer_call("open64", R"("ret":3)") +
                          dftracer_call("readlink", R"("bufsize":4095)") +
                          dftracer_call("readlink", R"("bufsize":4095,"ret":7)") +
                          dftracer_call("readv", R"("iovcnt":3,"ret":12288)") +
                          dftracer_call("fread_unlocked", R"("size":4,"count":2,"ret":1)"));
  ASSERT_TRUE(got) << got.error().message();
  ASSERT_EQ(got->records.size(), 2U);
  EXPECT_EQ(got->records[0].offset, 0U);
  EXPECT_EQ(got->records[0].bytes, 12288U);
  EXPECT_EQ(got->records[1].offset, 12288U);
  EXPECT_EQ(got->records[1].returned, 4);
}

// A seek leads to what it returns (lseek), or to what it asks for from the start (fseek returns 0).
TEST_F(TraceImport, DfTracerFollowsSeeks) {
  const std::string read = dftracer_call("read", R"("count":8,"ret":8)");
  const auto got =
      import(dftracer_call("open64", R"("ret":3)") +
             dftracer_call("lseek64", R"("offset":12,"whence":1,"ret":512)") + read +
             dftracer_call("fseek", R"("offset":4096,"whence":"SEEK_SET","ret":0)") + read +
             dftracer_call("fseek", R"("offset":-1,"whence":"SEEK_END","ret":0)") + read);
  ASSERT_TRUE(got) << got.error().message();
  ASSERT_EQ(got->records.size(), 3U);
  EXPECT_EQ(got->records[0].offset, 512U);
  EXPECT_EQ(got->records[1].offset, 4096U);
  EXPECT_EQ(got->records[1].flags, 0);
  EXPECT_EQ(got->records[2].flags, kTraceInexact) << "from an end that is not known";
}

// Dialects 2 and 3: hashes that a metadata line names, perhaps one of another process.
TEST_F(TraceImport, DfTracerResolvesHashes) {
  const std::string read =
      R"({"name":"read","cat":"POSIX","pid":9,"tid":9,"ts":110,"dur":5,"ph":"X","args":{"fhash":"a1","count":8,"ret":8}})"
      "\n";
  const auto name = [](int pid, const char* path) {
    return fmt::format(
        R"({{"name":"FH","cat":"dftracer","pid":{},"tid":1,"ph":"M","args":{{"name":"{}","value":"a1"}}}})"
        "\n",
        pid, path);
  };
  EXPECT_EQ(import(read + name(7, "/d/a"))->names, std::vector<std::string>{"/d/a"});
  EXPECT_EQ(import(name(7, "/d/b") + name(9, "/d/a") + read)->name(0), "/d/a") << "its own";
  EXPECT_EQ(import(read)->name(0), "hash:a1");
  expect_refused(name(9, "/d/a") + name(9, "/d/b") + read, "names /d/a and /d/b",
                 with_format("dftracer"));
  expect_refused(name(7, "/d/a") + name(8, "/d/b") + read, "names /d/a and /d/b");
  const auto unopened = import(read);
  EXPECT_EQ(unopened->records[0].flags, kTraceInexact) << "no open was seen";
}

// Dialect 4: numbers for ph and type; what is aggregated holds no calls; lost lines are found.
TEST_F(TraceImport, DfTracerRefusesWhatIsAggregatedAndFindsLostLines) {
  const std::string read =
      R"({"name":"pread64","type":3,"pid":9,"tid":9,"ts":110,"dur":5,"ph":1,"args":{"fhash":"a1","count":8,"offset":512,"ret":8}})"
      "\n";
  const auto whole =
      import(read + R"({"name":"end","pid":9,"tid":9,"ts":120,"ph":1,"args":{"num_events":2}})");
  ASSERT_TRUE(whole) << whole.error().message();
  EXPECT_FALSE(whole->facts.incomplete);
  EXPECT_EQ(whole->records[0].offset, 512U);
  EXPECT_EQ(whole->records[0].form, CallForm::pread);
  EXPECT_EQ(whole->facts.notes.front(), "dialect 4 of DFTracer");
  EXPECT_TRUE(
      import(read + R"({"name":"end","pid":9,"tid":9,"ts":120,"ph":1,"args":{"num_events":9}})")
          ->facts.incomplete);
  expect_refused(read + R"({"name":"read","type":3,"pid":9,"tid":9,"ts":1,"ph":3,"args":{}})",
                 ":2: is aggregated", with_format("dftracer"));
  expect_refused(read + "{\"name\":\"re", ":2:", with_format("dftracer"));
}

TEST_F(TraceImport, CsvQuotesCloseAtTheEndOfTheLine) {
  const std::string line =
      "time_ns,op,offset,bytes,returned,latency_ns,thread,form,flags,path\n0,read,0,4096,,,0,read,"
      ",";
  for (const auto& [quoted, name] : {std::pair{R"("a,b")", "a,b"}, {R"("a""b")", R"(a"b)"}}) {
    const auto got = import(line + quoted + "\n");
    ASSERT_TRUE(got) << quoted;
    EXPECT_EQ(got->name(0), name);
  }
  for (const char* open : {R"("a)", R"("a"b)", R"("a"b")", R"("a""\n)"}) {
    expect_refused(line + open + "\n", "quotes", with_format("csv"));
  }
}

}  // namespace
}  // namespace blksweep
