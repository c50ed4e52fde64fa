// What a run keeps of its probe when the kernel did not tell it everything.
#include <gtest/gtest.h>

#include "experiment/observe.h"
#include "support/demo_records.h"

namespace blksweep {
namespace {

RunRecord with_lost(std::uint64_t lost, std::uint64_t requests) {
  RunRecord run = demo_run(0);
  run.warnings.clear();
  run.incomplete = false;
  run.probe->requests = requests;
  run.probe->healed = lost;
  return run;
}

TEST(UnsureDepth, IsWithheldAndTheRunCounts) {
  RunRecord run = with_lost(15, 959);
  withhold_unsure_depth(run);
  EXPECT_FALSE(run.probe->depth_mean);
  EXPECT_TRUE(run.probe->latency_ns.empty());
  EXPECT_TRUE(run.probe->depth.empty());
  EXPECT_TRUE(run.probe->series.empty());
  EXPECT_FALSE(run.probe->request_bytes.empty());  // of what was issued
  EXPECT_EQ(run.probe->requests, 959U);
  ASSERT_EQ(run.warnings.size(), 1U);
  EXPECT_NE(run.warnings[0].find("15 completions of 959 requests"), std::string::npos);
  EXPECT_FALSE(run.incomplete);
}

TEST(UnsureDepth, UpToOnePercentItStays) {
  RunRecord run = with_lost(9, 959);
  withhold_unsure_depth(run);
  EXPECT_TRUE(run.probe->depth_mean);
  EXPECT_FALSE(run.probe->latency_ns.empty());
  EXPECT_TRUE(run.warnings.empty());
}

}  // namespace
}  // namespace blksweep
