// How many batches may be out at once: as many as no gate waits for, and no more.
#include "loader/most_held.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/rng.h"

namespace blksweep {
namespace {

// A parcel a batch, several parcels a read.
struct Epoch {
  Plan plan;
  Schedule schedule;
  std::vector<std::uint32_t> last;  // of each batch, its read
};

Epoch random_epoch(std::uint64_t seed) {
  Rng rng(seed, 1);
  Epoch e;
  const auto batches = static_cast<std::uint32_t>(1 + rng.below(8));
  e.schedule.batch_begin.push_back(0);
  e.plan.first_piece.push_back(0);
  for (std::uint32_t b = 0; b < batches; ++b) {
    e.schedule.emission.push_back(b);
    e.schedule.batch_begin.push_back(b + 1);
    e.plan.parcel_bytes.push_back(512);
    e.plan.pieces.push_back({b, 0, 0, 512});
    const auto last = static_cast<std::uint32_t>(e.plan.reads.size());
    if (b + 1 == batches || rng.below(3) > 0) {  // else the next one is read along
      e.plan.first_piece.push_back(b + 1);
      e.plan.reads.emplace_back();
    }
    e.last.push_back(last);
  }
  return e;
}

// Whether a consumer that returns the oldest batch only when `held` are out gets them all.
bool goes_on(const Epoch& e, std::uint32_t held) {
  std::uint32_t read = 0;
  for (std::uint32_t b = 0; b < e.schedule.batches(); ++b) {
    read = std::max(read, e.last[b]);
    const std::uint32_t returned = b + 1 - std::min(b + 1, held);
    for (const Gate& g : e.schedule.gates) {
      if (g.read <= read && g.consumed_batches > returned) {
        return false;
      }
    }
  }
  return true;
}

TEST(MostHeld, IsTheLargestNumberWithWhichNoReadWaitsForever) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Epoch e = random_epoch(seed);
    Rng rng(seed, 2);
    std::uint32_t consumed = 0;
    for (std::uint32_t r = 1; r < e.plan.reads.size(); ++r) {
      const std::uint32_t first = e.plan.first_piece[r];  // it has batches from this one on
      if (consumed < first && rng.below(2) == 0) {
        consumed += static_cast<std::uint32_t>(1 + rng.below(first - consumed));
        e.schedule.gates.push_back({r, consumed});
      }
    }
    const std::uint32_t most = most_held_batches(e.plan, e.schedule);
    EXPECT_GE(most, 1U) << seed;
    EXPECT_LE(most, e.schedule.batches()) << seed;
    EXPECT_TRUE(goes_on(e, most)) << seed << ": " << most;
    EXPECT_TRUE(most == e.schedule.batches() || !goes_on(e, most + 1)) << seed << ": " << most;
  }
}

}  // namespace
}  // namespace blksweep
