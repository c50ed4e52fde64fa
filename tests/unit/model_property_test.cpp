// What holds for every model, whatever the requests and however it is asked.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/model_rig.h"

namespace blksweep {
namespace {

using namespace support;

// Bursts, gaps, short runs, repeats, writes: at most a few hundred are waiting.
std::vector<Arrival> mixed_stream(std::uint64_t seed, std::int64_t mean_gap) {
  Rng rng(seed);
  std::vector<Arrival> out;
  std::int64_t now = 0;
  std::uint64_t at = 0;
  for (int i = 0; i < 400; ++i) {
    now += rng.below(4) == 0
               ? static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(8 * mean_gap)))
               : 0;
    const auto bytes = static_cast<std::uint32_t>(512 * (1 + rng.below(256)));
    const std::uint64_t kind = rng.below(4);
    at = kind == 0 ? rng.below(kDevice.n) : kind == 1 ? at - std::min(at, rng.below(1 << 20)) : at;
    at = std::min(at, kDevice.n - bytes);
    out.push_back({now, {at, bytes, rng.below(5) == 0}});
    at += kind == 3 ? rng.below(1 << 21) : bytes;
  }
  return out;
}

struct Device {
  std::string name;
  std::int64_t mean_gap;
  std::uint32_t queue = 0;  // 0: as shipped
};

ModelSpec spec_of(const Device& device) {
  ModelSpec spec = shipped(device.name);
  std::visit(
      [&](auto& timing) {
        if constexpr (requires { timing.queue; }) {
          timing.queue = device.queue == 0 ? timing.queue : device.queue;
        }
      },
      spec.timing);
  return spec;
}

class EveryModel : public testing::TestWithParam<Device> {};

TEST_P(EveryModel, CompletesEachRequestOnceAndNotBeforeItArrived) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const auto arrivals = mixed_stream(seed, GetParam().mean_gap);
    const auto model = make_model(spec_of(GetParam()), kDevice);
    const auto done = completions(*model, arrivals, Asking::prompt);
    ASSERT_EQ(done.size(), arrivals.size());
    for (const auto& [tag, at] : done) {
      EXPECT_GE(at, arrivals[tag].at);
    }
    EXPECT_EQ(model->next(), std::nullopt);
  }
}

TEST_P(EveryModel, GivesTheSameTimesHoweverItIsAsked) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto arrivals = mixed_stream(seed, GetParam().mean_gap);
    const auto run = [&](Asking asking) {
      return completions(*make_model(spec_of(GetParam()), kDevice, 3), arrivals, asking);
    };
    const auto prompt = run(Asking::prompt);
    EXPECT_EQ(prompt.size(), arrivals.size());
    EXPECT_EQ(prompt, run(Asking::prompt));
    EXPECT_EQ(prompt, run(Asking::late)) << "seed " << seed;
    EXPECT_EQ(prompt, run(Asking::random)) << "seed " << seed;
  }
}

TEST_P(EveryModel, HandsOutCompletionsInTheOrderOfTime) {
  const auto arrivals = mixed_stream(1, GetParam().mean_gap);
  const auto model = make_model(spec_of(GetParam()), kDevice);
  std::vector<DiskCompletion> done;
  for (std::uint64_t tag = 0; tag < arrivals.size(); ++tag) {
    model->arrive(arrivals[tag].at, tag, arrivals[tag].request);
  }
  model->advance(std::int64_t{1} << 60, done);
  EXPECT_EQ(done.size(), arrivals.size());
  EXPECT_TRUE(std::ranges::is_sorted(done, {}, &DiskCompletion::at_ns));
}

TEST_P(EveryModel, IsDoneWithNothingBeforeNextSays) {
  const auto arrivals = mixed_stream(2, GetParam().mean_gap);
  const auto model = make_model(spec_of(GetParam()), kDevice);
  std::vector<DiskCompletion> done;
  std::int64_t now = 0;
  for (std::uint64_t tag = 0; tag < arrivals.size(); ++tag) {
    while (model->next() && *model->next() <= arrivals[tag].at) {
      const std::int64_t at = *model->next();
      model->advance(std::max(now, at - 1), done);
      ASSERT_TRUE(done.empty() || at - 1 < now);
      model->advance(at, done);
      ASSERT_FALSE(done.empty());
      EXPECT_EQ(done.front().at_ns, at);
      done.clear();
      now = at;
    }
    now = arrivals[tag].at;
    model->arrive(now, tag, arrivals[tag].request);
  }
}

INSTANTIATE_TEST_SUITE_P(Shipped, EveryModel,
                         testing::Values(Device{"hdd-7200", 5'000'000},
                                         Device{"hdd-7200", 5'000'000, 1},
                                         Device{"hdd-7200", 100'000}, Device{"hdd-5400", 9'000'000},
                                         Device{"sata-ssd", 100'000}, Device{"nvme", 5'000},
                                         Device{"nvme", 5'000, 3}, Device{"remote", 300'000},
                                         Device{"remote", 300'000, 2}, Device{"none", 1'000}),
                         [](const auto& param) {
                           std::string name = param.param.name + "_gap_" +
                                              std::to_string(param.param.mean_gap) + "_queue_" +
                                              std::to_string(param.param.queue);
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(SimulateQueue, KeepsTheDepthAndCountsEverything) {
  const auto reads = random_reads(1000, kDevice, 4096);
  RemoteSpec spec;
  spec.round_trip_ns = 1e6;
  spec.link_rate = 1e12;
  const auto model = make_model({"", "", spec}, kDevice);
  const QueueResult r = simulate_queue(*model, reads, 10);
  EXPECT_EQ(r.bytes, 4096U * 1000);
  // 100 rounds of ten requests that take 1 ms each, whatever the others do.
  EXPECT_NEAR(static_cast<double>(r.wall_ns), 100e6, 1e5);
  std::uint64_t counted = 0;
  for (const auto& [low, count] : r.latency.buckets()) {
    counted += count;
    EXPECT_NEAR(static_cast<double>(low), 1e6, 2e4);
  }
  EXPECT_EQ(counted, 1000U);
}

TEST(SimulateQueue, AddsTheHostsTimeBetweenCompletionAndSubmission) {
  const auto reads = random_reads(101, kDevice, 4096);
  const auto model = make_model({}, kDevice);
  EXPECT_EQ(simulate_queue(*model, reads, 1, 7'000).wall_ns, 700'000);
}

TEST(SimulateQueue, OfNothingTakesNoTime) {
  const auto model = make_model(shipped("hdd-7200"), kDevice);
  EXPECT_EQ(simulate_queue(*model, {}, 32).wall_ns, 0);
}

}  // namespace
}  // namespace blksweep
