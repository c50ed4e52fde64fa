// Epochs whose truth is known, seen through an accelerator's clock that drifts, has another origin
// and steps of half a microsecond, and that the host can only ask from time to time.
#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.h"
#include "stage/cuda/anchor_clock.h"
#include "stats/overlap.h"
#include "support/pipeline_clock.h"

namespace blksweep {
namespace {

using support::PipelineClock;
using support::PipelineTimes;

constexpr std::int64_t kAnchorEvery = 20'000'000;
constexpr std::int64_t kStep = 500;  // of the accelerator's clock

class SteppedClock {
 public:
  SteppedClock(double ppm, std::int64_t offset_ns) : rate_(1 + ppm * 1e-6), offset_(offset_ns) {}
  // CUDA says float milliseconds since an origin; this one is not older than two seconds.
  DeviceTime at(std::int64_t host) const {
    const auto exact = static_cast<double>(host - offset_) * rate_;
    const std::int64_t stepped = std::llround(exact / kStep) * kStep;
    const std::int64_t origin = stepped / 2'000'000'000 * 2'000'000'000;
    const auto ms = static_cast<float>(static_cast<double>(stepped - origin) / 1e6);
    const double ns = static_cast<double>(ms) * 1e6;
    return {origin + std::llround(ns), kStep + std::llround(ns / (1 << 24))};
  }

 private:
  double rate_;
  std::int64_t offset_;
};

// Asks at `host`; the way there and back takes `width`, of which nobody knows how it is shared.
ClockReading ask(const SteppedClock& clock, std::int64_t host, std::int64_t width, Rng& rng) {
  const auto there = static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(width) + 1));
  const DeviceTime at = clock.at(host);
  return {at.ns, host - there, host - there + width, at.error_ns};
}

TEST(DeviceTimeline, TheStatedErrorIsNeverLessThanTheTrueOne) {
  std::int64_t widest = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    Rng rng(seed, 0xC10C);
    const double ppm = static_cast<double>(rng.below(1'200)) - 600;
    const SteppedClock clock(ppm, static_cast<std::int64_t>(rng.below(std::uint64_t{1} << 40)));
    AnchorClock anchors;
    std::int64_t now =
        (std::int64_t{1} << 40) + static_cast<std::int64_t>(rng.below(1'000'000'000));
    std::int64_t worst = 0;
    for (int i = 0; i < 100; ++i) {
      const std::int64_t width = 1'000 + static_cast<std::int64_t>(rng.below(40'000));
      anchors.offer(ask(clock, now, width, rng));
      const std::int64_t event = now + static_cast<std::int64_t>(rng.below(2 * kAnchorEvery));
      worst = std::max(worst, std::abs(anchors.to_host(clock.at(event)) - event));
      now += kAnchorEvery;
    }
    ASSERT_LE(worst, anchors.alignment().error_ns) << ppm << " ppm, seed " << seed;
    widest = std::max(widest, anchors.alignment().error_ns);
  }
  EXPECT_LT(widest, 60'000) << "a bound that holds because it is wide says nothing";
}

TEST(DeviceTimeline, ARestartForgetsWhatWasBeforeTheEpoch) {
  const SteppedClock clock(80, 5'000'000);
  Rng rng(3);
  AnchorClock anchors;
  anchors.offer(ask(clock, 1'000'000'000, 900'000, rng));
  anchors.to_host(clock.at(1'000'000'000));
  EXPECT_GT(anchors.alignment().error_ns, 400'000);
  anchors.restart();
  EXPECT_EQ(anchors.alignment().anchors, 0U);
  anchors.offer(ask(clock, 5'000'000'000, 10'000, rng));
  anchors.to_host(clock.at(5'000'000'000));
  EXPECT_LT(anchors.alignment().error_ns, 10'000);
  EXPECT_EQ(anchors.alignment().anchors, 1U);
}

// On the accelerator's own clock a duration is its own, whatever anchors lie between.
TEST(DeviceTimeline, DurationsOnTheDeviceHaveNoErrorOfAlignment) {
  const SteppedClock clock(100, 5'000'000);
  Rng rng(4);
  AnchorClock anchors;
  for (std::int64_t host = 1'000'000'000; host < 3'000'000'000; host += kAnchorEvery) {
    anchors.offer(ask(clock, host, 30'000, rng));
    const DeviceTime from = clock.at(host + 3'000'000), to = clock.at(host + 13'000'000);
    EXPECT_EQ(anchors.on_device(to) - anchors.on_device(from), to.ns - from.ns);
  }
}

// The epoch of the pipeline as a program would record it: what the host does by its clock, what
// the accelerator does through anchors.
struct Recorded {
  std::vector<BatchTimes> batches;
  std::vector<TransferSlice> transfers;
  std::vector<KernelSpan> kernels;
};

constexpr std::int64_t kCopy = 3'000'000, kKernel = 10'000'000, kBatches = 200;

// A free that waits: memory of a batch comes back when its kernel is through.
void add_frees(std::vector<BatchTimes>& batches) {
  for (BatchTimes& b : batches) {
    b[Stage::release] = without_wait({b[Stage::copy]->end, b[Stage::compute]->end});
  }
}

Recorded record(const std::vector<BatchTimes>& truth, const SteppedClock& clock, Rng& rng) {
  Recorded r{truth, {}, {}};
  AnchorClock anchors;
  std::int64_t next = 0;
  for (std::uint32_t b = 0; b < truth.size(); ++b) {
    for (; next <= truth[b][Stage::compute]->end; next += kAnchorEvery) {
      anchors.offer(ask(clock, next, 10'000, rng));
    }
    for (const Stage stage : {Stage::copy, Stage::compute}) {
      StageTimes& t = *r.batches[b][stage];
      const DeviceTime begin = clock.at(t.begin), end = clock.at(t.end);
      t = without_wait({anchors.to_host(begin), anchors.to_host(end)});
      const TimeSpan there{anchors.on_device(begin), anchors.on_device(end)};
      if (stage == Stage::copy) {
        r.transfers.push_back({there, b, 0, 1'000'000});
      } else {
        r.kernels.push_back({there, b, kKernel});
      }
    }
  }
  return r;
}

void expect_within_a_percent(std::int64_t seen, std::int64_t truth, const char* what) {
  EXPECT_NEAR(static_cast<double>(seen), static_cast<double>(truth),
              0.01 * static_cast<double>(truth))
      << what;
}

TEST(DeviceTimeline, TheAccountIsWithinAPercentOfTheTruth) {
  for (const bool frees : {false, true}) {
    PipelineClock pipeline({.read = 0, .copy = kCopy, .compute = kKernel, .batches = kBatches});
    if (frees) {
      add_frees(pipeline.batches);
    }
    // Room for an error of alignment at either end.
    const TimeSpan epoch{-1'000'000, pipeline.end + 1'000'000};
    const AccountInput truth{
        .epoch = epoch, .batches = pipeline.batches, .lanes = {false, true, true}};
    const Account wanted = make_account(truth);
    Rng rng(7);
    const Recorded r = record(pipeline.batches, SteppedClock(100, -5'000'000), rng);
    const Account seen =
        make_account({.epoch = epoch, .batches = r.batches, .lanes = {false, true, true}});
    for (const Stage lane : {Stage::copy, Stage::compute}) {
      expect_within_a_percent(seen.lane(lane)->busy, wanted.lane(lane)->busy, "busy");
      // Edges that were at the same instant may come apart by the error of alignment, each time.
      EXPECT_NEAR(static_cast<double>(seen.lane(lane)->exposed),
                  static_cast<double>(wanted.lane(lane)->exposed),
                  0.01 * static_cast<double>(wanted.wall));
    }
    EXPECT_NEAR(*seen.utilisation(), *wanted.utilisation(), 0.01 * *wanted.utilisation());
    const Overlap o = overlap_of({epoch, r.transfers, r.kernels});
    expect_within_a_percent(o.transfer, kBatches * kCopy, "transfer");
    expect_within_a_percent(o.kernel, kBatches * kKernel, "kernel");
    expect_within_a_percent(o.exposed, kCopy, "exposed: the first copy");
    expect_within_a_percent(o.both, (kBatches - 1) * kCopy, "hidden");
  }
}

}  // namespace
}  // namespace blksweep
