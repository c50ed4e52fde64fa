// The sampled miss-ratio curve against an LRU cache that is simulated.
#include "stats/miss_ratio.h"

#include <gtest/gtest.h>

#include <cmath>
#include <list>
#include <unordered_map>

#include "base/rng.h"

namespace blksweep {
namespace {

// Misses of an LRU cache of `size` keys.
double simulated(const std::vector<std::uint64_t>& keys, std::size_t size) {
  std::list<std::uint64_t> order;
  std::unordered_map<std::uint64_t, std::list<std::uint64_t>::iterator> at;
  std::size_t misses = 0;
  for (const std::uint64_t key : keys) {
    if (const auto found = at.find(key); found != at.end()) {
      order.erase(found->second);
    } else {
      ++misses;
      if (order.size() == size) {
        at.erase(order.back());
        order.pop_back();
      }
    }
    order.push_front(key);
    at[key] = order.begin();
  }
  return static_cast<double>(misses) / static_cast<double>(keys.size());
}

// Popularity falls with the square of the rank, with a scan in between.
std::vector<std::uint64_t> skewed(std::uint64_t seed, std::size_t count, std::uint64_t keys) {
  Rng rng(seed);
  std::vector<std::uint64_t> out;
  while (out.size() < count) {
    const double u = static_cast<double>(rng.next() >> 11) * 0x1p-53;
    out.push_back(static_cast<std::uint64_t>(u * u * u * static_cast<double>(keys)));
  }
  return out;
}

TEST(MissRatio, IsExactWhileAllKeysFit) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const auto keys = skewed(seed, 5000, 100);
    MissRatio m;
    for (const std::uint64_t key : keys) {
      m.reference(key);
    }
    EXPECT_TRUE(m.exact());
    EXPECT_EQ(m.error(), 0);
    for (const auto& point : m.curve()) {
      EXPECT_NEAR(point.misses, simulated(keys, point.cached), 1e-12) << point.cached;
    }
  }
}

TEST(MissRatio, IsASampleFromTheKeyOnThatDoesNotFit) {
  MissRatio m(64);
  for (std::uint64_t i = 0; i < 200; ++i) {
    m.reference(i % 64);
    EXPECT_TRUE(m.exact()) << i;
  }
  m.reference(64);
  EXPECT_FALSE(m.exact());
}

TEST(MissRatio, ALoopFitsIntoACacheOfItsSize) {
  for (const std::uint64_t loop : {64U, 128U, 256U, 1024U, 4096U}) {
    std::vector<std::uint64_t> keys;
    for (std::uint64_t i = 0; i < 3 * loop; ++i) {
      keys.push_back(i % loop);
    }
    for (std::uint64_t other = 0; other <= loop; ++other) {
      keys.push_back(loop + other);  // so that the cache of the loop is not the largest
    }
    MissRatio m;
    for (const std::uint64_t key : keys) {
      m.reference(key);
    }
    EXPECT_EQ(m.curve().front().cached, 1U);
    for (const auto& point : m.curve()) {
      EXPECT_NEAR(point.misses, simulated(keys, point.cached), 1e-12) << loop << point.cached;
    }
  }
}

TEST(MissRatio, ASampleIsAsCloseAsItSays) {
  for (std::uint64_t seed = 0; seed < 2; ++seed) {
    const auto keys = skewed(seed, 60'000, 20'000);
    MissRatio m(1024);
    for (const std::uint64_t key : keys) {
      m.reference(key);
    }
    EXPECT_FALSE(m.exact());
    double off = 0;
    for (const auto& point : m.curve()) {
      off += std::abs(point.misses - simulated(keys, point.cached));
    }
    EXPECT_LT(off / static_cast<double>(m.curve().size()), 1.5 * m.error());
  }
}

TEST(MissRatio, ASampleWithAFewHotKeysIsAsCloseAsItSays) {
  Rng rng(3);
  std::vector<std::uint64_t> keys;
  while (keys.size() < 60'000) {
    const std::uint64_t draw = rng.below(100);
    keys.push_back(draw < 30 ? 1 : draw < 45 ? 2 : 3 + rng.below(40'000));
  }
  MissRatio m(4096);
  for (const std::uint64_t key : keys) {
    m.reference(key);
  }
  ASSERT_GT(m.curve().size(), 5U);
  double off = 0;
  for (const auto& point : m.curve()) {
    off += std::abs(point.misses - simulated(keys, point.cached));
  }
  EXPECT_LT(off / static_cast<double>(m.curve().size()), 1.5 * m.error());
}

TEST(MissRatio, CountsKeysAndReferences) {
  MissRatio m(1000);
  for (std::uint64_t pass = 0; pass < 2; ++pass) {
    for (std::uint64_t key = 0; key < 100'000; ++key) {
      m.reference(key);
    }
  }
  EXPECT_EQ(m.references(), 200'000U);
  EXPECT_NEAR(m.keys(), 100'000, 10'000);
  const auto curve = m.curve();
  EXPECT_NEAR(curve.back().misses, 0.5, 0.05) << "the second pass hits in a cache of all";
  EXPECT_GT(curve[curve.size() - 3].misses, 0.95) << "a loop misses in any smaller one";
}

// Whether it is in the sample or the one that has just left it.
TEST(MissRatio, AKeyThatIsReadAgainAndAgainHits) {
  for (std::uint64_t hot = 0; hot <= 64; ++hot) {
    MissRatio m(64);
    for (std::uint64_t key = 0; key <= 64; ++key) {
      m.reference(key);
    }
    for (int i = 0; i < 10'000; ++i) {
      m.reference(hot);
    }
    EXPECT_NEAR(m.curve().back().misses, 65.0 / 10'065, 0.01) << hot;
  }
}

TEST(MissRatio, NothingIsNoCurve) { EXPECT_TRUE(MissRatio().curve().empty()); }

}  // namespace
}  // namespace blksweep
