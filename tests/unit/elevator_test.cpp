#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "plan/order_elevator.h"
#include "plan/plan.h"
#include "plan/schedule.h"
#include "support/chi_square.h"
#include "support/flat_catalog.h"
#include "support/synthetic_catalog.h"

namespace blksweep {
namespace {

using Chunks = std::vector<std::uint32_t>;

Chunks identity(std::uint32_t n) {
  Chunks all(n);
  std::iota(all.begin(), all.end(), 0U);
  return all;
}

Chunks calls_of(std::uint32_t chunks, std::uint64_t seed) {
  Chunks calls = identity(chunks);
  Rng rng(seed);
  shuffle(std::span(calls), rng);
  return calls;
}

// The definition, word by word. Counts how often a chunk had waited too long.
Chunks by_definition(const Chunks& calls, std::uint32_t lookahead, std::uint32_t& forced) {
  struct Waits {
    std::uint32_t chunk, since;
  };
  std::vector<Waits> waiting;
  Chunks out;
  const auto n = static_cast<std::uint32_t>(calls.size());
  std::uint32_t next = 0;
  for (std::uint32_t now = 0, head = 0; now < n; ++now) {
    while (waiting.size() < lookahead && next < n) {
      waiting.push_back({calls[next++], now});
    }
    const auto ahead = [&](const Waits& w) { return (w.chunk + n - head) % n; };
    auto chosen = std::ranges::min_element(waiting, {}, ahead);
    if (now - waiting.front().since >= kLongestWait * lookahead) {
      forced += chosen != waiting.begin() ? 1 : 0;
      chosen = waiting.begin();
    }
    out.push_back(chosen->chunk);
    head = (chosen->chunk + 1) % n;
    waiting.erase(chosen);
  }
  return out;
}

TEST(Elevator, ReadsWhatItsDefinitionSays) {
  std::uint32_t forced = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    for (const std::uint32_t chunks : {1U, 2U, 7U, 300U}) {
      for (const std::uint32_t lookahead : {1U, 2U, 3U, 20U, 400U}) {
        Rng rng(seed);
        const Chunks got = ride_elevator(chunks, lookahead, rng);
        ASSERT_EQ(got, by_definition(calls_of(chunks, seed), lookahead, forced));
      }
    }
  }
  EXPECT_GT(forced, 0U);
}

TEST(Elevator, OneThatWaitsIsRandomOrderAndAllAreAddressOrder) {
  Rng one(3), all(3);
  EXPECT_EQ(ride_elevator(200, 1, one), calls_of(200, 3));
  EXPECT_EQ(ride_elevator(200, 200, all), identity(200));
}

TEST(Elevator, ARoundOfTheHeadReadsTwiceWhatWaits) {
  for (const std::uint32_t lookahead : {10U, 100U, 1000U}) {
    Rng rng(7);
    const Chunks got = ride_elevator(100 * lookahead, lookahead, rng);
    std::uint32_t rounds = 1;
    for (std::size_t i = 1; i < got.size(); ++i) {
      rounds += got[i] < got[i - 1] ? 1U : 0U;
    }
    EXPECT_NEAR(100.0 / rounds, 2, 0.25) << lookahead;
  }
}

TEST(Elevator, NoChunkWaitsLongerThanItsBound) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const std::uint32_t lookahead = 1 + static_cast<std::uint32_t>(seed % 5);
    Rng rng(seed);
    const Chunks got = ride_elevator(500, lookahead, rng);
    Chunks place(got.size());
    for (std::uint32_t i = 0; i < got.size(); ++i) {
      place[got[i]] = i;
    }
    const Chunks calls = calls_of(500, seed);
    for (std::uint32_t i = 0; i < calls.size(); ++i) {
      const std::uint32_t called = i < lookahead ? 0 : i - lookahead + 1;
      ASSERT_LE(place[calls[i]] - called, (kLongestWait + 1) * lookahead);
    }
  }
}

TEST(Elevator, ChunksAreWholeRunsOfTheRing) {
  const Chunks ring = identity(103);
  Rng rng(5);
  Chunks out;
  append_elevator(ring, {.per_chunk = 10, .lookahead = 1}, rng, out);
  std::uint32_t jumps = 0;
  for (std::size_t i = 1; i < out.size(); ++i) {
    jumps += out[i] != (out[i - 1] + 1) % 103 ? 1U : 0U;
  }
  EXPECT_LE(jumps, 10U);
  EXPECT_GE(jumps, 5U);
}

TEST(Elevator, ChunksAreCountedInMeanSamples) {
  const auto ride = [](std::uint64_t chunk, std::uint64_t lookahead) {
    const ElevatorRide got =
        elevator_ride(1000, {4096 * 1000}, {.chunk = {chunk}, .lookahead = {lookahead}});
    return std::pair(got.per_chunk, got.lookahead);
  };
  EXPECT_EQ(ride(1 << 20, 8 << 20), std::pair(256U, 8U));
  EXPECT_EQ(ride(1, 8 << 20), std::pair(1U, 1000U));
  EXPECT_EQ(ride(1 << 30, 0), std::pair(1000U, 1U));
  EXPECT_EQ(elevator_ride(0, {0}, {}).per_chunk, 1U);
}

// --- what leaves the window ------------------------------------------------------------------

constexpr std::uint32_t kRingBytes = 4096;

struct Mix {
  std::uint32_t per_chunk, lookahead, window, hold;  // window: samples
};

Chunks emitted(const Catalog& catalog, Mix mix, std::uint64_t seed, Order order = Order::elevator) {
  const std::uint64_t mean = catalog.bytes().n / catalog.samples();
  const Plan plan =
      make_plan(catalog,
                make_order(catalog, {.order = order,
                                     .seed = seed,
                                     .chunk = {mix.per_chunk * mean},
                                     .lookahead = {mix.lookahead * mix.per_chunk * mean}}),
                1, {});
  const auto emission = draw_order(plan, {.shuffle = Shuffle::buffer,
                                          .window = {mix.window * align_up(mean, kRingBytes)},
                                          .hold = mix.hold,
                                          .seed = seed});
  Chunks out;
  for (const std::uint32_t position : *emission) {
    out.push_back(plan.order[position]);
  }
  return out;
}

support::FlatCatalog equal_files(std::uint32_t n) {
  support::FlatCatalog data("/d");
  for (std::uint32_t i = 0; i < n; ++i) {
    data.add("f" + std::to_string(1000 + i), kRingBytes, std::uint64_t{i} * kRingBytes);
  }
  return data;
}

// Probability of a Kolmogorov-Smirnov distance of at least d from the uniform places 0 ... n - 1;
// for places in steps the true one is higher (Conover, JASA 67(339), 1972).
double distance_tail(Chunks places, std::uint32_t n) {
  std::ranges::sort(places);
  const auto m = static_cast<double>(places.size());
  double d = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (i + 1 == places.size() || places[i + 1] != places[i]) {
      d = std::max(d, std::abs(static_cast<double>(i + 1) / m - (places[i] + 1.0) / n));
    }
  }
  double sum = 0;
  for (int k = 1; k <= 100; ++k) {
    sum += (k % 2 == 1 ? 2 : -2) * std::exp(-2.0 * k * k * m * d * d);
  }
  return std::clamp(sum, 0.0, 1.0);
}

constexpr std::uint32_t kRingSamples = 60, kRingEpochs = 1500;

struct Differ {
  std::uint32_t tests = 0, counts = 0, distances = 0;  // of these, with p <= 0.01
  double mean_off = 0;  // most that the mean place of a sample is from the middle, in epochs
};

// Of 25 samples in each case: at which place of the epoch they leave, over many seeds.
Differ from_uniform(const support::FlatCatalog& data, Order order) {
  Differ out;
  for (const Mix& mix : {Mix{4, 3, 12, 4}, {7, 2, 20, 0}, {1, 10, 5, 2}, {20, 1, 30, 1}}) {
    std::vector<Chunks> places(kRingSamples);
    for (std::uint64_t seed = 1; seed <= kRingEpochs; ++seed) {
      const Chunks left = emitted(data.view(), mix, seed, order);
      for (std::uint32_t i = 0; i < left.size(); ++i) {
        places[left[i]].push_back(i);
      }
    }
    for (std::uint32_t sample = 0; sample < 50; sample += 2, ++out.tests) {
      std::vector<std::uint64_t> counts(kRingSamples);
      const double sum = std::accumulate(places[sample].begin(), places[sample].end(), 0.0);
      out.mean_off = std::max(out.mean_off, std::abs(sum / kRingEpochs / (kRingSamples - 1) - 0.5));
      for (const std::uint32_t place : places[sample]) {
        ++counts[place];
      }
      const double x = support::chi_square(counts, double{kRingEpochs} / kRingSamples);
      out.counts += support::chi_square_tail(x, kRingSamples - 1) <= 0.01 ? 1 : 0;
      out.distances += distance_tail(places[sample], kRingSamples) <= 0.01 ? 1 : 0;
    }
  }
  fmt::print(
      "{}: of {} tests {} of counts and {} of distances have p <= 0.01; mean place off by {:.3f}\n",
      to_string(order), out.tests, out.counts, out.distances, out.mean_off);
  return out;
}

TEST(ElevatorShuffle, EverySampleLeavesAtEveryPlaceEquallyOften) {
  const support::FlatCatalog data = equal_files(kRingSamples);
  const Differ near_head = from_uniform(data, Order::elevator);
  EXPECT_EQ(near_head.tests, 100U);
  EXPECT_LE(near_head.counts, 2U);
  EXPECT_LE(near_head.distances, 2U);
  const Differ in_order = from_uniform(data, Order::lba);
  EXPECT_GE(in_order.counts, 90U);
  EXPECT_GE(in_order.distances, 90U);
}

// Then the window holds now more and now fewer: seen by a test of counts, but small.
TEST(ElevatorShuffle, SamplesOfOtherSizesNearlySo) {
  support::FlatCatalog data("/d");
  Rng rng(3);
  std::uint64_t at = 0;
  for (std::uint32_t i = 0; i < kRingSamples; ++i) {
    const auto bytes = static_cast<std::uint64_t>(std::exp(8.3 + 0.5 * rng.normal()));
    data.add("f" + std::to_string(1000 + i), bytes, at);
    at += align_up(bytes, kRingBytes);
  }
  const Differ differ = from_uniform(data, Order::elevator);
  EXPECT_LE(differ.mean_off, 0.05);
}

TEST(ElevatorShuffle, NoSampleStaysLongerThanItsBound) {
  constexpr std::uint32_t kArrivals = 2000, kWindow = 50;
  const support::FlatCatalog data = equal_files(kArrivals);
  for (const std::uint32_t hold : {1U, 2U, 4U}) {
    const Plan plan = make_plan(data.view(), identity(kArrivals), 1, {});
    const auto emission = draw_order(plan, {.shuffle = Shuffle::buffer,
                                            .window = {std::uint64_t{kWindow} * kRingBytes},
                                            .hold = hold,
                                            .seed = hold});
    std::uint32_t longest = 0;
    // Before emission i the window had been filled, and i of those that followed had arrived.
    for (std::uint32_t i = 0; i < kArrivals - kWindow; ++i) {
      longest = std::max(longest, kWindow + i - (*emission)[i]);
    }
    EXPECT_EQ(longest, hold * kWindow) << hold;
  }
}

TEST(ElevatorShuffle, ABoundLosesNothingWhateverTheSizes) {
  for (const std::uint32_t hold : {0U, 1U, 3U}) {
    const support::SyntheticCatalog data({.files = 700, .odd = 0.3, .holes = 0.3, .seed = hold});
    Chunks out = emitted(data.view(), {9, 5, 40, hold}, 11);
    std::ranges::sort(out);
    EXPECT_EQ(out, identity(static_cast<std::uint32_t>(data.view().samples())));
  }
}

}  // namespace
}  // namespace blksweep
