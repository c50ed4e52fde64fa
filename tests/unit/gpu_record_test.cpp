// What a run says of the GPU that it used, and of how far its times can be trusted.
#include "experiment/record/gpu_record.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>

namespace blksweep {
namespace {

// The only warning of a run; "": none, or several.
std::string only_warning(const RunRecord& r) {
  return r.warnings.size() == 1 ? r.warnings.front() : "";
}
bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(GpuRecord, AThrottledRunIsWarnedOf) {
  const auto point = [](Maybe<std::uint64_t> reasons) {
    GpuPoint p;
    p.throttle_reasons = reasons;
    return p;
  };
  EXPECT_EQ(throttle_warning({}), "");
  EXPECT_EQ(throttle_warning({point({}), point(0), point(1)}), "");
  EXPECT_EQ(throttle_warning({point(1), point(4), point(0x24), point({})}),
            "the GPU's clocks were held down in 2 of 4 samples: power cap, heat");
}

// Ten batches in a tenth of a second, whose kernels were to take half of that.
RunRecord gpu_run() {
  RunRecord r;
  r.epoch_ns = 100'000'000;
  r.batches.resize(10);
  r.device_clock.emplace().error_ns = 20'000;
  r.overlap.emplace().kernel_ns = 50'100'000;
  r.overlap->asked_ns = 50'000'000;
  return r;
}

// The copy stage and the consumer each know its clock: the run's is no better than either says.
TEST(GpuRecord, OfTwoClocksTheWorseIsTheRunsAndTheSurerDriftIs) {
  RunRecord r;
  record_clock(r, std::nullopt);
  EXPECT_FALSE(r.device_clock);
  const ClockAlignment copy{.offset_ns = 5,
                            .drift = 1e-6,
                            .drift_error = 1e-7,
                            .error_ns = 100,
                            .clamped_ns = 90,
                            .anchors = 3,
                            .cost_ns = 7},
      consumer{.offset_ns = 6,
               .drift = 2e-6,
               .drift_error = 1e-8,
               .error_ns = 200,
               .clamped_ns = 10,
               .anchors = 9,
               .cost_ns = 4};
  for (const auto& [first, second] : {std::pair(copy, consumer), std::pair(consumer, copy)}) {
    RunRecord both;
    record_clock(both, first);
    record_clock(both, std::nullopt);
    record_clock(both, second);
    ASSERT_TRUE(both.device_clock);
    EXPECT_EQ(both.device_clock->offset_ns, first.offset_ns);
    EXPECT_EQ(both.device_clock->drift, 2e-6);
    EXPECT_EQ(both.device_clock->drift_error, 1e-8);
    EXPECT_EQ(both.device_clock->error_ns, 200);
    EXPECT_EQ(both.device_clock->clamped_ns, 90);
    EXPECT_EQ(both.device_clock->anchors, 9U);
    EXPECT_EQ(both.device_clock->cost_ns, 7);
  }
}

TEST(GpuRecord, TimesThatCanBeTrustedHaveNoWarning) {
  RunRecord r = gpu_run();
  judge_gpu_times(r);
  EXPECT_TRUE(r.warnings.empty());
  EXPECT_FALSE(r.incomplete);
}

TEST(GpuRecord, AClockThatIsKnownBadlyIsWarnedOf) {
  RunRecord r = gpu_run();
  r.device_clock->error_ns = 2'100'000;  // a fifth of a batch
  judge_gpu_times(r);
  EXPECT_TRUE(has(only_warning(r), "2.100 ms") && has(only_warning(r), "10.000 ms"));
  EXPECT_FALSE(r.incomplete) << "it is stated";
}

TEST(GpuRecord, ATimeThatIsFartherOffThanStatedIsNone) {
  RunRecord r = gpu_run();
  r.device_clock->clamped_ns = 20'001;
  judge_gpu_times(r);
  EXPECT_TRUE(r.incomplete);
}

TEST(GpuRecord, KernelsThatTookAnotherTimeThanTheyWereToAreWarnedOf) {
  for (const std::int64_t took : {49'000'000LL, 51'000'000LL}) {
    RunRecord r = gpu_run();
    r.overlap->kernel_ns = took;
    judge_gpu_times(r);
    EXPECT_TRUE(has(only_warning(r), took > 50'000'000 ? "1.020" : "0.980")) << took;
  }
  RunRecord emulated = gpu_run();
  emulated.device_clock.reset();
  emulated.overlap->kernel_ns = 60'000'000;
  judge_gpu_times(emulated);
  EXPECT_TRUE(emulated.warnings.empty()) << "no kernel of a GPU";
}

TEST(GpuRecord, OfTwoClocksTheWorseErrorAndTheMoreCertainDriftCount) {
  RunRecord r;
  record_clock(r, std::nullopt);
  EXPECT_FALSE(r.device_clock);
  ClockAlignment seen;
  seen.error_ns = 900;
  seen.drift = 3e-2;
  seen.drift_error = 5e-2;
  record_clock(r, seen);
  seen.error_ns = 700;
  seen.drift = 1e-4;
  seen.drift_error = 2e-6;
  record_clock(r, seen);
  seen.drift = seen.drift_error = std::nullopt;
  record_clock(r, seen);
  EXPECT_EQ(r.device_clock->drift, 1e-4);
  EXPECT_EQ(r.device_clock->drift_error, 2e-6);
  EXPECT_EQ(r.device_clock->error_ns, 900);
}

}  // namespace
}  // namespace blksweep
