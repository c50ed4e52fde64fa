#include "stage/part_hash.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "base/rng.h"

namespace blksweep {
namespace {

std::vector<unsigned char> random_bytes(std::size_t n, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<unsigned char> bytes(n);
  for (unsigned char& b : bytes) {
    b = static_cast<unsigned char>(rng.next() & 0xFF);
  }
  return bytes;
}

// What the kernel does: any number of threads, each with its share, added in any order.
TEST(PartHash, SharesOfAnyNumberOfThreadsAddUpToTheSame) {
  for (const std::size_t n : {0U, 1U, 7U, 8U, 9U, 255U, 4096U, 100'003U}) {
    const auto bytes = random_bytes(n, n);
    for (const std::size_t threads : {1U, 3U, 256U}) {
      std::uint64_t sum = part_hash_end(n);
      for (std::size_t t = threads; t > 0; --t) {
        sum += part_sum(bytes.data(), n, t - 1, threads);
      }
      EXPECT_EQ(sum, part_hash(bytes.data(), n)) << n << " bytes, " << threads << " threads";
    }
  }
}

TEST(PartHash, EveryBitAndEveryPlaceCounts) {
  auto bytes = random_bytes(77, 1);
  std::set<std::uint64_t> seen{part_hash(bytes.data(), bytes.size())};
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] = static_cast<unsigned char>(bytes[bit / 8] ^ (1U << (bit % 8)));
    EXPECT_TRUE(seen.insert(part_hash(bytes.data(), bytes.size())).second) << "bit " << bit;
    bytes[bit / 8] = static_cast<unsigned char>(bytes[bit / 8] ^ (1U << (bit % 8)));
  }
  std::swap_ranges(bytes.begin(), bytes.begin() + 8, bytes.begin() + 8);
  EXPECT_TRUE(seen.insert(part_hash(bytes.data(), bytes.size())).second) << "two words swapped";
}

TEST(PartHash, ZerosOfDifferentLengthsDiffer) {
  const std::vector<unsigned char> zeros(64, 0);
  std::set<std::uint64_t> seen;
  for (std::size_t n = 0; n <= zeros.size(); ++n) {
    EXPECT_TRUE(seen.insert(part_hash(zeros.data(), n)).second) << n;
  }
}

}  // namespace
}  // namespace blksweep
