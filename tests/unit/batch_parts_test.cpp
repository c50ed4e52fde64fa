// The parts of a batch are its samples that could be read: what failed has no number.
#include "loader/batch_parts.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "base/rng.h"

namespace blksweep {
namespace {

struct Case {
  Schedule schedule;
  std::vector<std::uint8_t> failed;
};

// `batches` of 0 to 6 samples, emitted in any order; one of three failed.
Case some_case(std::uint32_t batches, Rng& rng) {
  Case c;
  c.schedule.batch_begin = {0};
  for (std::uint32_t b = 0; b < batches; ++b) {
    c.schedule.batch_begin.push_back(c.schedule.batch_begin.back() +
                                     static_cast<std::uint32_t>(rng.below(7)));
  }
  c.schedule.emission.resize(c.schedule.batch_begin.back());
  std::iota(c.schedule.emission.begin(), c.schedule.emission.end(), 0U);
  shuffle(std::span<std::uint32_t>(c.schedule.emission), rng);
  for (std::size_t p = 0; p < c.schedule.emission.size(); ++p) {
    c.failed.push_back(rng.below(3) == 0 ? 1 : 0);
  }
  return c;
}

TEST(BatchParts, AreWhatDidNotFailInOrderOfEmission) {
  Rng rng(11);
  for (int n = 0; n < 100; ++n) {
    const Case c = some_case(5, rng);
    std::vector<std::uint32_t> places;
    for (std::uint32_t b = 0; b < 5; ++b) {
      each_part(c.schedule, c.failed, b, [&](std::uint32_t i) {
        EXPECT_GE(i, c.schedule.batch_begin[b]);
        EXPECT_LT(i, c.schedule.batch_begin[b + 1]);
        places.push_back(i);
      });
    }
    std::vector<std::uint32_t> wanted;
    for (std::uint32_t i = 0; i < c.schedule.emission.size(); ++i) {
      if (c.failed[c.schedule.emission[i]] == 0) {
        wanted.push_back(i);
      }
    }
    EXPECT_EQ(places, wanted);
  }
}

TEST(BatchParts, AreFoundByTheirNumbers) {
  Rng rng(12);
  for (int n = 0; n < 100; ++n) {
    const Case c = some_case(4, rng);
    for (std::uint32_t b = 0; b < 4; ++b) {
      std::uint32_t part = 0;
      each_part(c.schedule, c.failed, b, [&](std::uint32_t i) {
        EXPECT_EQ(position_of_part(c.schedule, c.failed, b, part++), c.schedule.emission[i]);
      });
    }
  }
}

}  // namespace
}  // namespace blksweep
