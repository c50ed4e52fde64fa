// Recorded randomness: the same seed gives the same numbers on every machine and library.
//
// Rng is xoshiro256** seeded through splitmix64 (Blackman and Vigna, "Scrambled linear
// pseudorandom number generators", ACM TOMS 47(4), 2021). std::*_distribution is not used for
// anything recorded, because its output differs between standard libraries.
// Threads: one owner.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>
#include <utility>

namespace blksweep {

class Rng {
 public:
  // `stream` separates independent uses of one seed (order, shuffle, sizes ...).
  explicit Rng(std::uint64_t seed, std::uint64_t stream = 0) {
    std::uint64_t x = seed ^ (stream * 0xD1342543DE82EF95ULL);
    for (std::uint64_t& s : state_) {
      s = splitmix(x);
    }
  }

  std::uint64_t next() {
    const std::uint64_t out = std::rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = std::rotl(state_[3], 45);
    return out;
  }

  // Uniform in [0, n), n > 0, without bias (Lemire, "Fast random integer generation in an
  // interval", ACM TOMACS 29(1), 2019).
  std::uint64_t below(std::uint64_t n) {
    __extension__ using Wide = unsigned __int128;
    Wide m = Wide{next()} * n;
    if (static_cast<std::uint64_t>(m) < n) {
      const std::uint64_t floor = (0 - n) % n;
      while (static_cast<std::uint64_t>(m) < floor) {
        m = Wide{next()} * n;
      }
    }
    return static_cast<std::uint64_t>(m >> 64);
  }

  // Uniform in [0, 1) with 53 bits.
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

  // Standard normal (Box-Muller, one of the pair).
  double normal() {
    const double u = 1.0 - unit();
    return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * unit());
  }

 private:
  static std::uint64_t splitmix(std::uint64_t& x) {
    std::uint64_t z = (x += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }

  std::uint64_t state_[4]{};
};

// Fisher-Yates: every permutation equally likely.
template <class T>
void shuffle(std::span<T> items, Rng& rng) {
  for (std::size_t i = items.size(); i > 1; --i) {
    std::swap(items[i - 1], items[rng.below(i)]);
  }
}

}  // namespace blksweep
