// The check by CUPTI: what compares is tried on constructed records, the whole of it on the
// stand-in, which has a CUPTI of its own. A GPU is checked by `make bench-gpu`, in a process of its
// own: records cost time.
#include <gtest/gtest.h>

#include "gpu/cupti.h"
#include "support/standin.h"

namespace blksweep {
namespace {

using Spans = std::vector<TimeSpan>;
constexpr std::int64_t kError = 2'000;

EdgesFound compared(const Spans& ours, const Spans& theirs) {
  return compare_edges(ours, theirs, kError + kWayToWork);
}

TEST(CuptiEdges, WorkInItsSpansIsWithinTheError) {
  const EdgesFound found = compared({{100'000, 200'000}, {300'000, 400'000}},
                                    {{103'000, 150'000}, {150'000, 199'000}, {299'000, 399'500}});
  EXPECT_TRUE(found.within(kError));
  EXPECT_EQ(found.inside, 3'000);
  EXPECT_EQ(found.outside, 1'000);
  EXPECT_EQ(found.farthest(), 3'000);
}

TEST(CuptiEdges, ASpanThatIsTooShortOrTooLongIsNot) {
  EXPECT_FALSE(compared({{100'000, 200'000}}, {{97'000, 200'000}}).within(kError));
  EXPECT_FALSE(compared({{100'000, 200'000}}, {{100'000, 202'001}}).within(kError));
  EXPECT_FALSE(compared({{100'000, 200'000}}, {{112'001, 200'000}}).within(kError));
  EXPECT_FALSE(compared({{100'000, 200'000}}, {{100'000, 187'999}}).within(kError));
  // Each edge for itself: what is early at one end is not made good at the other.
  EXPECT_FALSE(compared({{100'000, 200'000}}, {{95'000, 195'000}}).within(kError));
}

TEST(CuptiEdges, WorkWithoutASpanAndASpanWithoutWorkAreSaid) {
  const EdgesFound found =
      compared({{100'000, 200'000}, {300'000, 400'000}}, {{100'000, 200'000}, {230'000, 250'000}});
  EXPECT_EQ(found.lost, 1U);
  EXPECT_EQ(found.missing, 1U);
  EXPECT_FALSE(found.within(kError));
  EXPECT_FALSE(compared({}, {{1, 2}}).within(kError));
  EXPECT_FALSE(compared({{1, 2}}, {}).within(kError));
}

TEST(CuptiEdges, AnOverlapThatCuptiDidNotSeeIsAllWrong) {
  CuptiReport r;
  r.both_ns = 100;
  EXPECT_EQ(r.overlap_off(), 1);
  r.cupti_both_ns = 101;
  EXPECT_LT(r.overlap_off(), 0.01);
}

class StandinCupti : public ::testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_STANDIN(standin_);
    // 10 ms a batch, of few bytes: the stand-in keeps a source's bytes while a copy is asked for,
    // which would lie between the event in front of the copy and the copy.
    standin_.set("link=0.0033");
  }
  static Result<CuptiReport> checked() {
    return check_with_cupti(
        {.batches = 12, .parts = 8, .part_bytes = 1 << 12, .takes = std::chrono::milliseconds(15)});
  }
  // What held this process between two calls lies in a span of ours: the quietest of five. A clock
  // that is off is so every time.
  static Result<CuptiReport> quietest() {
    for (int left = 4;; --left) {
      Result<CuptiReport> report = checked();
      if (!report || left == 0 ||
          (report->copies.within(report->error_ns) && report->kernels.within(report->error_ns))) {
        return report;
      }
    }
  }
  Standin standin_;
};

TEST_F(StandinCupti, AgreesThroughAClockThatDrifts) {
  standin_.set("drift=1e-4,offset=5000000");
  const auto report = quietest();
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_TRUE(report->copies.within(report->error_ns)) << report->copies.farthest();
  EXPECT_TRUE(report->kernels.within(report->error_ns)) << report->kernels.farthest();
  EXPECT_GT(report->cupti_both_ns, 80'000'000);
  EXPECT_LE(report->overlap_off(), 0.01);
}

// As if our clock were off by so much.
TEST_F(StandinCupti, FindsKernelsThatAreElsewhere) {
  standin_.set("cupti_shift=3000000");
  const auto report = checked();
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_FALSE(report->kernels.within(report->error_ns));
  EXPECT_GT(report->overlap_off(), 0.01);
}

}  // namespace
}  // namespace blksweep
