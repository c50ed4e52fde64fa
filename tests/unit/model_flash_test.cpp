// The models of flash and of a remote server against their equations (docs/models.md).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/model_rig.h"

namespace blksweep {
namespace {

using namespace support;

FlashSpec flash() {
  FlashSpec spec;
  spec.read_ns = 50e3;
  spec.write_ns = 500e3;
  spec.page = Bytes{16384};
  spec.channels = 8;
  spec.overhead_ns = 10e3;
  spec.link_rate = 1e9;
  spec.queue = 256;
  return spec;
}

RemoteSpec remote() {
  RemoteSpec spec;
  spec.round_trip_ns = 1e6;
  spec.request_ns = 100e3;
  spec.link_rate = 100e6;
  return spec;
}

template <class T>
std::unique_ptr<DiskModel> model_of(const T& spec) {
  return make_model({"test", "", spec}, kDevice, 7);
}

TEST(Flash, OneReadTakesOverheadPageAndLink) {
  EXPECT_EQ(latency(*model_of(flash()), 1000, {0, 4096, false}), 10'000 + 50'000 + 4096);
  EXPECT_EQ(latency(*model_of(flash()), 1000, {0, 4096, true}), 10'000 + 500'000 + 4096);
}

TEST(Flash, PagesOfARequestAreReadAtOnceUpToTheChannels) {
  // 8 pages on 8 channels; 16 pages in two rounds; 4 KiB over a border are two pages.
  EXPECT_EQ(latency(*model_of(flash()), 0, {0, 8 * 16384, false}), 60'000 + 8 * 16384);
  EXPECT_EQ(latency(*model_of(flash()), 0, {0, 16 * 16384, false}), 110'000 + 16 * 16384);
  EXPECT_EQ(latency(*model_of(flash()), 0, {16384 - 2048, 4096, false}), 60'000 + 4096);
}

// What all channels give together, as far as the link takes it.
TEST(Flash, ReadsOnAsFastAsItsChannelsOrItsLink) {
  FlashSpec spec = flash();
  for (const auto& [channels, rate] : {std::pair{1, 327.68e6}, {2, 655.36e6}, {8, 1e9}}) {
    spec.channels = static_cast<decltype(spec.channels)>(channels);
    const ModelFacts facts = model_facts({"test", "", spec}, Bytes{kDevice});
    EXPECT_DOUBLE_EQ(*facts.sequential_begin, rate);
    EXPECT_DOUBLE_EQ(*facts.sequential_end, rate);
    EXPECT_DOUBLE_EQ(*facts.sequential_mean, rate);
  }
}

TEST(Flash, RequestsOnOneChannelWaitForEachOther) {
  const auto model = model_of(flash());
  const auto done =
      completions(*model, {{0, {0, 4096, false}}, {0, {8 * 16384, 4096, false}}}, Asking::prompt);
  EXPECT_EQ(done.at(0), 64'096);
  EXPECT_EQ(done.at(1), 114'096);
}

TEST(Flash, RandomReadsAtDepthOneHaveTheAnalyticMean) {
  for (const char* name : {"sata-ssd", "nvme"}) {
    const ModelSpec spec = shipped(name);
    const auto reads = random_reads(20'000, kDevice, 4096);
    const auto model = make_model(spec, kDevice);
    const double analytic = *model_facts(spec, kDevice).random_mean_ns;
    EXPECT_NEAR(static_cast<double>(simulate_queue(*model, reads, 1).wall_ns) / 20'000, analytic,
                0.001 * analytic);
  }
}

TEST(Flash, ShippedModelsHaveTheirDataSheetsRates) {
  const auto reads = random_reads(50'000, kDevice, 4096);
  const auto iops = [&](const char* name, std::uint32_t depth) {
    return per_second(50'000, simulate_queue(*make_model(shipped(name), kDevice), reads, depth));
  };
  EXPECT_NEAR(iops("sata-ssd", 1), 10'000, 200);
  EXPECT_NEAR(iops("sata-ssd", 32), 98'000, 5'000);
  EXPECT_NEAR(iops("nvme", 1), 15'000, 300);
  EXPECT_NEAR(iops("nvme", 128), 500'000, 25'000);
}

TEST(Flash, SaturatesAtItsChannels) {
  FlashSpec spec = flash();
  spec.link_rate = 1e12;
  const auto reads = random_reads(50'000, kDevice, 4096);
  const double iops = per_second(50'000, simulate_queue(*model_of(spec), reads, 256));
  EXPECT_LE(iops, 8 / 50e-6);
  EXPECT_GE(iops, 0.9 * 8 / 50e-6);
}

TEST(Flash, IsCappedByItsLink) {
  const auto reads = sequential(0, std::uint64_t{1} << 30, 1 << 20);
  const QueueResult r = simulate_queue(*model_of(flash()), reads, 32);
  EXPECT_NEAR(per_second(static_cast<double>(r.bytes), r), 1e9, 1e6);
}

TEST(Flash, TakesAsManyAtOnceAsItsQueueHolds) {
  FlashSpec spec = flash();
  spec.queue = 1;
  const auto reads = random_reads(1000, kDevice, 4096);
  const QueueResult r = simulate_queue(*model_of(spec), reads, 32);
  EXPECT_EQ(r.wall_ns, 1000 * 64'096);
}

TEST(Remote, OneReadTakesARoundTripTheServerAndTheLink) {
  EXPECT_EQ(latency(*model_of(remote()), 500, {0, 4096, false}), 1'000'000 + 100'000 + 40'960);
}

TEST(Remote, IsCappedByTheServerInRequestsAndByTheLinkInBytes) {
  const auto small = random_reads(20'000, kDevice, 512);
  EXPECT_NEAR(per_second(20'000, simulate_queue(*model_of(remote()), small, 128)), 10'000, 100);
  const auto large = sequential(0, std::uint64_t{1} << 28, 1 << 20);
  const QueueResult r = simulate_queue(*model_of(remote()), large, 32);
  EXPECT_NEAR(per_second(static_cast<double>(r.bytes), r), 100e6, 1e6);
}

TEST(Remote, AQueueOfOneIsOneRoundTripAfterTheOther) {
  RemoteSpec spec = remote();
  spec.queue = 1;
  const auto reads = random_reads(100, kDevice, 4096);
  EXPECT_EQ(simulate_queue(*model_of(spec), reads, 64).wall_ns, 100 * 1'140'960);
}

TEST(Remote, JitterHasMedianOneAndTheAnalyticMean) {
  RemoteSpec spec = remote();
  spec.jitter = 0.4;
  const auto model = model_of(spec);
  std::vector<double> trips;
  for (std::int64_t i = 0; i < 40'001; ++i) {
    const auto ns = latency(*model, i * 100'000'000, {0, 4096, false});
    trips.push_back(static_cast<double>(ns));
  }
  std::ranges::nth_element(trips, trips.begin() + 20'000);
  EXPECT_NEAR(trips[20'000] - 140'960, 1e6, 0.01e6);
  double sum = 0;
  for (const double t : trips) {
    sum += t;
  }
  const double analytic = *model_facts({"", "", spec}, kDevice).random_mean_ns;
  EXPECT_NEAR(sum / 40'001, analytic, 0.01 * analytic);
}

TEST(Remote, TheSeedDecidesTheJitter) {
  RemoteSpec spec = remote();
  spec.jitter = 0.4;
  const auto first = [&](std::uint64_t seed) {
    return latency(*make_model({"", "", spec}, kDevice, seed), 0, {0, 4096, false});
  };
  EXPECT_EQ(first(1), first(1));
  EXPECT_NE(first(1), first(2));
}

TEST(Instant, IsDoneWhenItArrives) {
  EXPECT_EQ(latency(*make_model({}, kDevice), 12'345, {0, 1 << 20, false}), 0);
  EXPECT_EQ(*model_facts({}, kDevice).random_mean_ns, 0);
  EXPECT_FALSE(model_facts({}, kDevice).sequential_mean);
}

}  // namespace
}  // namespace blksweep
