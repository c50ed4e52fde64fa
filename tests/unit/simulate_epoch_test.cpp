#include "simulate/simulate_epoch.h"

#include <gtest/gtest.h>
#include <sys/sysmacros.h>

#include <cstdio>
#include <filesystem>
#include <limits>

#include "loader/source.h"
#include "os/file/file.h"
#include "simulate/predict_run.h"
#include "support/fixed_latency_model.h"
#include "support/flat_catalog.h"
#include "support/reader_rig.h"

namespace blksweep {
namespace {

using std::chrono::milliseconds;
using support::FixedLatencyModel;
using support::FlatCatalog;

constexpr std::int64_t kMs = 1'000'000;
constexpr std::uint64_t kFar = std::uint64_t{1} << 20;  // between files that do not touch

// `count` files of `size` bytes, `stride` apart on the disk.
FlatCatalog files(std::uint32_t count, std::uint64_t size, std::uint64_t stride) {
  FlatCatalog flat("/data");
  for (std::uint32_t i = 0; i < count; ++i) {
    flat.add("f" + std::to_string(100 + i), size, (i + 1) * stride);
  }
  return flat;
}

SimDevice big_device() {
  SimDevice device;
  device.size = {std::uint64_t{1} << 40};
  return device;
}

struct EpochCase {
  LoaderSettings cell{};
  SimDevice device = big_device();
  std::uint64_t seed = 1;
};

Result<Prediction> predict_on(DiskModel& model, const FlatCatalog& flat, const EpochCase& c) {
  Source source;
  source.catalog = flat.view();
  source.direct_align = kSectorBytes;
  BLKSWEEP_TRY(const PlannedEpoch planned, plan_epoch(source, c.cell, c.seed));
  return predict({source.catalog, planned, c.cell, c.seed, model, c.device});
}

Prediction must(const Result<Prediction>& p) {
  EXPECT_TRUE(p) << p.error().message();
  return p.value_or(Prediction{});
}

LoaderSettings at_depth(std::uint32_t depth) {
  LoaderSettings cell;
  cell.depth = depth;
  return cell;
}

TEST(Predict, AtAFixedLatencyIsReadsOverDepthRoundedUp) {
  for (const std::uint32_t count : {1U, 7U, 32U, 101U}) {
    for (const std::uint32_t depth : {1U, 2U, 4U, 32U}) {
      FixedLatencyModel model(kMs, depth);
      const Prediction p = must(predict_on(model, files(count, 4096, kFar), {at_depth(depth)}));
      EXPECT_EQ(p.epoch_ns, (count + depth - 1) / depth * kMs) << count << " at " << depth;
      EXPECT_EQ(p.device.requests, count);
      EXPECT_EQ(p.samples, count);
      EXPECT_EQ(p.bytes, count * 4096U);
      EXPECT_LE(model.most_inside, depth);
    }
  }
}

TEST(Predict, KeepsNoMoreThanDepthReadsInTheDevice) {
  FixedLatencyModel model(kMs, 1);  // one at a time: the rest queues
  const Prediction p = must(predict_on(model, files(20, 4096, kFar), {at_depth(5)}));
  EXPECT_EQ(model.most_inside, 5U);
  EXPECT_EQ(p.epoch_ns, 20 * kMs);
  EXPECT_NEAR(p.depth_mean().value_or(0), (16 * 5 + 4 + 3 + 2 + 1) / 20.0, 1e-9);
}

TEST(Predict, WaitsForARefillHoweverSlowTheDeviceIs) {
  FixedLatencyModel model(kMs, 1);
  EpochCase c{at_depth(4)};
  c.cell.refill = {2, 0};
  const Prediction p = must(predict_on(model, files(8, 4096, kFar), c));
  EXPECT_NEAR(p.depth_mean().value_or(0), (4 + 3 + 4 + 3 + 4 + 3 + 2 + 1) / 8.0, 1e-9);
}

TEST(Predict, SubmitsInPlanOrder) {
  FixedLatencyModel model(kMs, 4);
  must(predict_on(model, files(50, 4096, kFar), {at_depth(4)}));
  EXPECT_TRUE(
      std::ranges::is_sorted(model.arrivals, {}, [](const auto& a) { return a.request.offset; }));
}

TEST(Predict, AnAcceleratorThatIsSlowerThanTheDiskSetsTheTime) {
  FixedLatencyModel model(kMs, 1);
  EpochCase c{at_depth(1)};
  c.cell.batch = 2;
  c.cell.consumer = ConsumerKind::emulated;
  c.cell.compute.mean = milliseconds(10);
  const Prediction p = must(predict_on(model, files(10, 4096, kFar), c));
  EXPECT_EQ(p.first_batch_ns, 2 * kMs);
  EXPECT_EQ(p.epoch_ns, 2 * kMs + 5 * 10 * kMs);
  EXPECT_DOUBLE_EQ(p.utilisation.value_or(0), 50.0 / 52.0);
}

TEST(Predict, AGateLetsReadsWaitForConsumedBatches) {
  FixedLatencyModel model(kMs, 1);
  EpochCase c{at_depth(1)};
  c.cell.batch = 2;
  c.cell.prefetch = 0;
  c.cell.window = {Bytes{4096}, 0};
  c.cell.consumer = ConsumerKind::emulated;
  c.cell.compute.mean = milliseconds(10);
  must(predict_on(model, files(10, 4096, kFar), c));
  const auto& at = model.arrivals;
  ASSERT_EQ(at.size(), 10U);
  EXPECT_GE(at.back().at, 3 * 10 * kMs) << "the last reads wait for the batches before them";
  FixedLatencyModel free_model(kMs, 1);
  c.cell.prefetch = 100;
  c.cell.window = {Bytes{std::uint64_t{1} << 26}, 0};
  must(predict_on(free_model, files(10, 4096, kFar), c));
  EXPECT_EQ(free_model.arrivals.back().at, 9 * kMs) << "without a gate they do not";
}

TEST(Predict, NeighboursInOneGroupBecomeOneRequest) {
  FixedLatencyModel model(kMs, 1);
  const Prediction p = must(predict_on(model, files(64, 4096, 4096), {at_depth(64)}));
  EXPECT_EQ(p.device.requests, 1U);
  EXPECT_EQ(p.device.bytes, 64U * 4096);
  EXPECT_EQ(p.epoch_ns, kMs);
}

TEST(Predict, TwoReadsOrFewerInAGroupAreNotPlugged) {
  FixedLatencyModel model(kMs, 2);
  const Prediction p = must(predict_on(model, files(8, 4096, 4096), {at_depth(2)}));
  EXPECT_EQ(p.device.requests, 8U);
}

TEST(Predict, CutsReadsAtTheLongestRequest) {
  FixedLatencyModel model(kMs, 64);
  EpochCase c{at_depth(8)};
  c.device.max_request = 256U << 10;
  const Prediction p = must(predict_on(model, files(3, 1U << 20, 8 * kFar), c));
  EXPECT_EQ(p.reads, 3U);
  EXPECT_EQ(p.device.requests, 12U);
  for (const auto& a : model.arrivals) {
    EXPECT_EQ(a.request.bytes, 256U << 10);
  }
}

TEST(Predict, AFileInTwoPlacesNeedsBothBeforeItIsThere) {
  FlatCatalog flat("/data");
  flat.add("f", 8192, kFar);
  flat.extents[0].length = 4096;
  flat.extents.push_back({4096, 9 * kFar, 4096, 0, 0});
  flat.add("g", 4096, 20 * kFar);
  EpochCase c{at_depth(4)};
  c.cell.batch = 1;
  FixedLatencyModel model(kMs, 1);
  const Prediction p = must(predict_on(model, flat, c));
  EXPECT_EQ(p.device.requests, 3U);
  EXPECT_EQ(p.epoch_ns, 3 * kMs);
  EXPECT_EQ(p.first_batch_ns, 2 * kMs) << "one sample a batch: f needs two requests";
}

TEST(Predict, HolesCostNothing) {
  FlatCatalog flat("/data");
  flat.add("hole", 1U << 20, 0);
  flat.extents.clear();
  FixedLatencyModel model(kMs, 1);
  const Prediction p = must(predict_on(model, flat, {at_depth(4)}));
  EXPECT_EQ(p.epoch_ns, 0);
  EXPECT_EQ(p.device.requests, 0U);
  EXPECT_EQ(p.depth_mean(), std::nullopt);
}

TEST(Predict, TheHostsCostDelaysEachRead) {
  FixedLatencyModel model(kMs, 1);
  EpochCase c{at_depth(1)};
  c.device.host_cost = std::chrono::microseconds(7);
  EXPECT_EQ(must(predict_on(model, files(10, 4096, kFar), c)).epoch_ns, 10 * (kMs + 7000));
}

TEST(Predict, PreadReadsOneAtATimeWhateverTheDepth) {
  FixedLatencyModel model(kMs, 8);
  EpochCase c{at_depth(8)};
  c.cell.engine = EngineKind::psync;
  EXPECT_EQ(must(predict_on(model, files(10, 4096, kFar), c)).epoch_ns, 10 * kMs);
  EXPECT_EQ(model.most_inside, 1U);
}

TEST(Predict, AModelThatRunsTenTimesAsFastTakesATenth) {
  FixedLatencyModel model(kMs, 4);
  EpochCase c{at_depth(4)};
  c.device.speedup = 10;
  EXPECT_EQ(must(predict_on(model, files(100, 4096, kFar), c)).epoch_ns, 25 * kMs / 10);
}

TEST(Predict, RefusesWhatItCannotKnow) {
  FixedLatencyModel model(kMs, 1);
  FlatCatalog inlined = files(4, 4096, kFar);
  inlined.extents[1].flags = kExtentInline;
  const auto unknown = predict_on(model, inlined, {at_depth(1)});
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message().find("no known place on the disk"), std::string::npos);

  EpochCase buffered{at_depth(1)};
  buffered.cell.direct = false;
  const auto cached = predict_on(model, files(4, 4096, kFar), buffered);
  ASSERT_FALSE(cached);
  EXPECT_EQ(cached.error().exit_code, Exit::usage);

  EpochCase small{at_depth(1)};
  small.device.size = {kFar};
  const auto outside = predict_on(model, files(4, 4096, kFar), small);
  ASSERT_FALSE(outside);
  EXPECT_NE(outside.error().message().find("--size 1 MiB"), std::string::npos)
      << outside.error().message();
}

TEST(Predict, CountsAFewUnknownBytes) {
  FlatCatalog flat = files(1000, 4096, kFar);
  flat.extents[5].flags = kExtentInline;
  FixedLatencyModel model(kMs, 1);
  const Prediction p = must(predict_on(model, flat, {at_depth(1)}));
  EXPECT_EQ(p.unknown_bytes, 4096U);
  EXPECT_EQ(p.device.requests, 999U);
}

TEST(Predict, TheSameInputsGiveTheSameAnswer) {
  EpochCase c{at_depth(16)};
  c.cell.order = Order::random;
  c.cell.shuffle = Shuffle::buffer;
  c.cell.window = {{}, 10};
  c.cell.consumer = ConsumerKind::emulated;
  c.cell.compute = {milliseconds(2), 0.5};
  c.cell.batch = 8;
  std::vector<std::int64_t> epochs;
  for (const std::uint64_t seed : {3U, 3U, 4U}) {
    FixedLatencyModel model(kMs / 10, 4, 1.0);
    c.seed = seed;
    epochs.push_back(must(predict_on(model, files(500, 4096, 3 * 4096), c)).epoch_ns);
  }
  EXPECT_EQ(epochs[0], epochs[1]);
  EXPECT_NE(epochs[0], epochs[2]) << "another seed draws other compute times";
}

// The real Reader on the same model: it and its prediction have to ask the same, in the same
// groups.
class OnModel {
 public:
  OnModel(support::ReaderRig& rig, DiskModel& model, const SimDevice& device)
      : rig_(rig), queue_(model, device, rig.settings.depth) {
    rig.engine.on_group = [this](auto batch, auto asked) { submit(batch, asked); };
    rig.engine.completes = [this](std::size_t wait_for, std::size_t most) {
      return complete(wait_for, most);
    };
  }
  const SimCounts& counts() const { return queue_.counts(); }
  std::int64_t now() const { return now_; }

 private:
  void submit(std::span<const ReadRequest> batch,
              std::span<const support::FakeEngine::Asked> asked) {
    for (std::size_t i = 0; i < batch.size(); ++i) {
      queue_.add(now_, batch[i].tag, places(asked[i]));
      if (batch.size() <= 2) {
        queue_.flush(now_);
      }
    }
    queue_.flush(now_);
  }
  std::vector<std::uint32_t> complete(std::size_t wait_for, std::size_t most) {
    queue_.advance(now_, done_);
    while (done_.size() < wait_for) {
      now_ = std::max(now_, queue_.next().value());
      queue_.advance(now_, done_);
    }
    const auto end = done_.begin() + static_cast<std::ptrdiff_t>(std::min(most, done_.size()));
    std::vector<std::uint32_t> taken(done_.begin(), end);
    done_.erase(done_.begin(), end);
    return taken;
  }
  std::vector<DiskRange> places(const support::FakeEngine::Asked& a) const {
    if (a.source == kFromDevice) {
      return {{rig_.catalog.partition_start + a.offset, a.length}};
    }
    std::vector<DiskRange> found;
    for (const ExtentRecord& e : rig_.catalog.extents_of(a.source)) {
      const std::uint64_t from = std::max(e.file_offset, a.offset);
      const std::uint64_t to = std::min(e.file_end(), a.offset + a.length);
      if (from < to) {
        const std::uint64_t at = e.device_offset + (from - e.file_offset);
        found.push_back({rig_.catalog.partition_start + at, to - from});
      }
    }
    return found;
  }
  support::ReaderRig& rig_;
  SimQueue queue_;
  std::vector<std::uint32_t> done_;  // and not taken yet
  std::int64_t now_ = 0;
};

bool same(const FixedLatencyModel::Arrival& a, const FixedLatencyModel::Arrival& b) {
  return a.at == b.at && a.request.offset == b.request.offset && a.request.bytes == b.request.bytes;
}

TEST(Predict, AsksTheDeviceWhatTheReaderAsks) {
  for (const Merge merge : {Merge::none, Merge::file, Merge::kernel, Merge::device}) {
    for (const Order order : {Order::random, Order::lba}) {
      for (const Shuffle shuffle : {Shuffle::none, Shuffle::reservoir}) {
        LoaderSettings cell = at_depth(16);
        cell.order = order;
        support::ReaderRigSettings settings{
            .data = {.files = 300, .extents_per_file = 1.5},
            .order = order,
            .merge = {.merge = merge, .align = kPageBytes, .batch = 8},
            .shuffle = {.shuffle = shuffle, .window = {std::uint64_t{1} << 20}, .batch = 16},
            .depth = 16,
            .refill = refill_of(cell),
            .slots = {.slots = 512, .direct = false, .openers = 0}};
        SCOPED_TRACE(std::string(to_string(merge)) + " " + std::string(to_string(order)) + " " +
                     std::string(to_string(shuffle)));
        support::ReaderRig rig(settings);
        FixedLatencyModel measured(5'000, 4, 0.01), predicted(5'000, 4, 0.01);
        const OnModel driver(rig, measured, big_device());
        ASSERT_TRUE(rig.run());
        ASSERT_TRUE(rig.result) << rig.result.error().message();
        const PlannedEpoch planned{rig.plan, rig.schedule};
        const Prediction p =
            must(predict({rig.catalog, planned, cell, 1, predicted, big_device()}));
        EXPECT_EQ(p.reads, rig.reader->counts().submitted);
        EXPECT_EQ(p.device.requests, driver.counts().requests);
        EXPECT_EQ(p.epoch_ns, driver.now());
        EXPECT_TRUE(std::ranges::equal(measured.arrivals, predicted.arrivals, same));
      }
    }
  }
}

constexpr std::uint64_t kPartitionEnd = (1U << 30) + (1U << 20);

PredictSettings settings_on(const std::string& disk) {
  const FlatCatalog flat = files(1, 4096, kFar);
  Source source;
  source.catalog = flat.view();
  BlockDevice& device = source.device.emplace();
  device.disk = disk;
  device.partition_start = std::uint64_t{1} << 30;
  device.size = std::uint64_t{1} << 20;
  unsigned of[2]{};
  std::sscanf(first_line("/sys/block/" + disk + "/dev").c_str(), "%u:%u", &of[0], &of[1]);
  device.whole_disk = makedev(of[0], of[1]);
  return predict_settings(source, {});
}

// Not of loop devices, whose settings other tests may be changing.
TEST(PredictSettings, TheLongestRequestAndTheSizeAreWhatTheKernelHasOfTheDisk) {
  for (const auto& entry : std::filesystem::directory_iterator("/sys/block")) {
    const std::string disk = entry.path().filename().string();
    const std::string kib = first_line(entry.path().string() + "/queue/max_sectors_kb");
    if (!disk.starts_with("loop") && !kib.empty()) {
      const std::uint64_t size = std::stoull(first_line(entry.path().string() + "/size")) * 512;
      EXPECT_EQ(settings_on(disk).max_request, std::stoul(kib) << 10) << disk;
      EXPECT_EQ(settings_on(disk).size.n, std::max(size, kPartitionEnd)) << disk;
    }
  }
}

TEST(PredictSettings, ALongestRequestIsAboveNothingAndUpToAGibibyte) {
  const auto of = [](const char* kib) { return longest_request({{"max_sectors_kb", kib}}); };
  EXPECT_EQ(of("1"), 1024U);
  EXPECT_EQ(of("1048576"), 1U << 30);
  for (const char* none : {"0", "1048577", "", "many"}) {
    EXPECT_EQ(of(none), std::nullopt) << none;
  }
  EXPECT_EQ(longest_request({{"max_hw_sectors_kb", "8"}}), std::nullopt);
}

TEST(PredictSettings, ADiskThatIsNotThereIsAsFastAsItsModelAndEndsWithItsPartition) {
  const PredictSettings s = settings_on("no-such-disk");
  EXPECT_EQ(s.speedup, 1);
  EXPECT_EQ(s.max_request, PredictSettings{}.max_request);
  EXPECT_EQ(s.size.n, kPartitionEnd);
}

}  // namespace
}  // namespace blksweep
