// Imports of texts into a trace file, and what stands in it.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "support/temp_dir.h"
#include "trace/import/import.h"
#include "trace/trace_file.h"

namespace blksweep::support {

struct Imported {
  TraceFacts facts;
  std::vector<std::string> names;
  std::vector<TraceRecord> records;
  const std::string& name(std::size_t i) const { return names.at(records.at(i).place); }
};

// A record of vscsi, version 2, as it lies in a file.
struct Vscsi2 {
  std::uint16_t command = 0x28, version = 2 << 8;
  std::uint32_t number = 1, bytes = 8192, segments = 1;
  std::uint64_t sector = 64, time_us = 5, response_us = 300;
  std::string text() const { return {reinterpret_cast<const char*>(this), sizeof *this}; }
};
static_assert(sizeof(Vscsi2) == 40);

class TraceImport : public testing::Test {
 protected:
  Result<Imported> import(const std::string& bytes, ImportSettings settings = {}) {
    dir_.write("in", bytes);
    if (settings.inputs.empty()) {
      settings.inputs = {dir_.path("in")};
    }
    settings.output = dir_.path("out");
    BLKSWEEP_TRY(const ImportReport report, import_trace(settings, stop_));
    return read(settings.output);
  }
  static Result<Imported> read(const std::string& path) {
    BLKSWEEP_TRY(TraceReader reader, TraceReader::open(path));
    Imported out;
    out.facts = reader.facts();
    std::vector<TraceRecord> block;
    for (;;) {
      BLKSWEEP_TRY(const bool some, reader.next(block));
      if (!some) {
        out.names = reader.names();
        return out;
      }
      out.records.insert(out.records.end(), block.begin(), block.end());
    }
  }
  // One record, with these fields.
  void expect_one(const std::string& bytes, const char* format, TraceRecord wanted,
                  const std::string& name, ImportSettings settings = {}) {
    const auto got = import(bytes, std::move(settings));
    ASSERT_TRUE(got) << format << ": " << got.error().message();
    EXPECT_EQ(got->facts.format, format);
    ASSERT_EQ(got->records.size(), 1U) << format;
    EXPECT_TRUE(got->records[0] == wanted)
        << format << ": " << got->records[0].offset << " " << got->records[0].bytes;
    EXPECT_EQ(got->name(0), name);
  }
  void expect_refused(const std::string& bytes, const std::string& says,
                      ImportSettings settings = {}) {
    std::filesystem::remove(dir_.path("out"));
    const auto got = import(bytes, std::move(settings));
    ASSERT_FALSE(got) << bytes.substr(0, 80);
    EXPECT_NE(got.error().message().find(says), std::string::npos) << got.error().message();
    EXPECT_FALSE(std::filesystem::exists(dir_.path("out"))) << "nothing is written";
  }
  static ImportSettings with_format(const char* format) {
    ImportSettings s;
    s.format = format;
    return s;
  }
  TempDir dir_;
  std::atomic<bool> stop_{false};
};

inline TraceRecord record(TraceOp op, std::uint64_t offset, std::uint64_t bytes,
                          std::int64_t latency_ns = kNotTold) {
  TraceRecord r;
  r.op = op;
  r.offset = offset;
  r.bytes = bytes;
  r.latency_ns = latency_ns;
  return r;
}

}  // namespace blksweep::support
