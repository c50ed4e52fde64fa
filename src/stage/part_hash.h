// A 64-bit hash of a part that the host and thousands of GPU threads compute alike: the sum of its
// mixed 8-byte words, so that any order of adding gives the same. For finding bytes that did not
// arrive or arrived elsewhere, not against an adversary.
//
// constexpr and without the standard library: nvcc compiles it for both sides.
#pragma once

#include <cstddef>
#include <cstdint>

namespace blksweep {

// The finaliser of splitmix64 over the word and its place.
constexpr std::uint64_t mix_word(std::uint64_t word, std::uint64_t index) {
  std::uint64_t z = word + (index + 1) * 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

// Little-endian; what lies beyond the part counts as 0.
constexpr std::uint64_t word_at(const unsigned char* data, std::size_t bytes, std::size_t index) {
  const std::size_t at = index * 8;
  const std::size_t left = bytes - at < 8 ? bytes - at : 8;
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < left; ++i) {
    word |= static_cast<std::uint64_t>(data[at + i]) << (8 * i);
  }
  return word;
}

constexpr std::size_t words_of(std::size_t bytes) { return (bytes + 7) / 8; }

// The share of thread `first` of `step`.
constexpr std::uint64_t part_sum(const unsigned char* data, std::size_t bytes, std::size_t first,
                                 std::size_t step) {
  std::uint64_t sum = 0;
  for (std::size_t i = first; i < words_of(bytes); i += step) {
    sum += mix_word(word_at(data, bytes, i), i);
  }
  return sum;
}

// What the length adds to the sum of all shares.
constexpr std::uint64_t part_hash_end(std::size_t bytes) {
  return mix_word(bytes, ~std::uint64_t{0} - 1);
}

constexpr std::uint64_t part_hash(const unsigned char* data, std::size_t bytes) {
  return part_sum(data, bytes, 0, 1) + part_hash_end(bytes);
}

}  // namespace blksweep
