// The reads of a trace as samples: each a sample or left out with its reason, none lost.
#include "replay/read_samples.h"

#include <gtest/gtest.h>

#include "dataset/catalog_parts.h"
#include "support/trace_rig.h"

namespace blksweep {
namespace {

const std::atomic<bool> kGoOn{false};

class ReadSamples : public support::TraceImport {
 protected:
  ReadSamples() {
    parts_.root = "/data";
    parts_.add_file({1, 10'000, 0, 0, 0, 0}, "a");
    parts_.add_file({2, 100, 0, 0, 0, 1}, "b");
    parts_.whole = {{0, kNoLabel}, {1, kNoLabel}};
  }
  // Of lines "op,offset,bytes,returned,path".
  Result<LeftOut> take(const std::vector<std::array<std::string, 5>>& lines) {
    std::string csv = "time_ns,op,offset,bytes,returned,latency_ns,thread,form,flags,path\n";
    for (const auto& [op, offset, bytes, returned, path] : lines) {
      csv += "0," + op + "," + offset + "," + bytes + "," + returned + ",,,,," + path + "\n";
    }
    EXPECT_TRUE(import(csv));
    BLKSWEEP_TRY(TraceReader trace, TraceReader::open(dir_.path("out")));
    return take_reads(trace, parts_, kGoOn);
  }
  CatalogParts parts_;
};

TEST_F(ReadSamples, AreWhatReadsGaveInTheirOrder) {
  const auto left = take({{"read", "4096", "4096", "", "a"},
                          {"read", "0", "4096", "100", "b"},
                          {"read", "8192", "4096", "", "a"},
                          {"read", "4096", "4096", "", "a"}});
  ASSERT_TRUE(left) << left.error().message();
  EXPECT_TRUE(left->empty());
  EXPECT_TRUE(parts_.whole.empty());
  const std::vector<std::array<std::uint64_t, 3>> wanted{
      {0, 4096, 4096}, {1, 0, 100}, {0, 8192, 1808}, {0, 4096, 4096}};
  ASSERT_EQ(parts_.parts.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(parts_.parts[i].file, wanted[i][0]) << i;
    EXPECT_EQ(parts_.parts[i].offset, wanted[i][1]) << i;
    EXPECT_EQ(parts_.parts[i].length, wanted[i][2]) << i;
  }
}

TEST_F(ReadSamples, WhatIsLeftOutIsCountedByItsReason) {
  const auto left = take({{"read", "0", "4096", "", "a"},
                          {"read", "10000", "1", "", "a"},    // behind the end
                          {"read", "0", "4096", "101", "b"},  // gave more than there is
                          {"read", "0", "4096", "0", "a"},
                          {"write", "0", "4096", "", "a"},
                          {"read", "0", "4096", "", "c"}});
  ASSERT_TRUE(left) << left.error().message();
  const LeftOut wanted{{kReadsBeyondFile, 2},
                       {"reads of nothing", 1},
                       {"writes and others", 1},
                       {"reads of files that are not in the catalog", 1}};
  EXPECT_EQ(*left, wanted);
  EXPECT_EQ(parts_.parts.size(), 1U);
}

TEST_F(ReadSamples, HaveTheLabelOfTheirFirstFolderAndNoLabelIsWithoutOne) {
  for (const char* path : {"cat/1", "cat/in/2", "dog/3", "fox/4"}) {
    parts_.add_file({3, 100, 0, 0, 0, 0}, path);
    parts_.whole.push_back({2, parts_.add_label(path)});
  }
  std::vector<std::array<std::string, 5>> lines;
  const std::vector<std::string> paths{"dog/3", "a", "cat/1", "dog/3", "cat/in/2"};
  for (const std::string& path : paths) {
    lines.push_back({"read", "0", "10", "", path});
  }
  ASSERT_TRUE(take(lines));
  const Catalog view = parts_.view();
  ASSERT_EQ(view.samples(), paths.size());
  for (std::uint32_t i = 0; i < paths.size(); ++i) {
    const std::string_view label = view.label(view.sample(i).label);
    EXPECT_EQ(label, paths[i] == "a" ? "" : paths[i].substr(0, 3)) << i;
  }
  EXPECT_EQ(view.label_end.size(), 2U);
}

TEST_F(ReadSamples, AreOfTheFileThatTheKernelFindsByTheName) {
  parts_.add_file({3, 100, 0, 0, 0, 2}, "c/d");
  const auto left = take({{"read", "0", "10", "", "./a"},
                          {"read", "0", "10", "", "c//./d"},
                          {"read", "0", "10", "", "c/d"},
                          {"read", "0", "10", "", "/a"},
                          {"read", "0", "10", "", "c/../a"}});
  ASSERT_TRUE(left) << left.error().message();
  EXPECT_EQ(*left, (LeftOut{{"reads of files that are not in the catalog", 2}}));
  ASSERT_EQ(parts_.parts.size(), 3U);
  EXPECT_EQ(parts_.parts[0].file, 0U);
  EXPECT_EQ(parts_.parts[0].label, kNoLabel) << "not the folder '.'";
  EXPECT_EQ(parts_.parts[1].file, 2U);
  EXPECT_EQ(parts_.parts[1].label, parts_.parts[2].label);
}

TEST_F(ReadSamples, ATraceOfWhichNothingIsLeftIsRefused) {
  const auto left = take({{"read", "0", "4096", "", "c"}});
  ASSERT_FALSE(left);
  EXPECT_NE(left.error().message().find("below /data"), std::string::npos);
}

}  // namespace
}  // namespace blksweep
