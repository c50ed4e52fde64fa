#include "plan/order_sort.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace blksweep {
namespace {

constexpr unsigned kDigitBits = 11;
constexpr std::size_t kDigits = std::size_t{1} << kDigitBits;
constexpr std::size_t kTiny = 32;    // up to here stable_sort's allocation costs more than moves
constexpr std::size_t kSmall = 256;  // below, clearing the counters costs more than comparing

std::size_t digit(std::uint64_t key, unsigned shift) { return (key >> shift) & (kDigits - 1); }

// One counting pass from `from` to `to`, least significant digit first.
void radix_pass(std::span<const SortKey> from, std::span<SortKey> to, unsigned shift) {
  std::array<std::uint32_t, kDigits> next{};
  for (const SortKey& k : from) {
    ++next[digit(k.key, shift)];
  }
  std::uint32_t sum = 0;
  for (std::uint32_t& n : next) {
    sum += std::exchange(n, sum);
  }
  for (const SortKey& k : from) {
    to[next[digit(k.key, shift)]++] = k;
  }
}

// The bits in which the keys differ: addresses have constant low bits and small high ones.
std::uint64_t varying_bits(std::span<const SortKey> keys) {
  std::uint64_t bits = 0;
  for (const SortKey& k : keys) {
    bits |= k.key ^ keys.front().key;
  }
  return bits;
}

void insertion_sort(std::span<SortKey> keys) {
  for (std::size_t i = 1; i < keys.size(); ++i) {
    const SortKey moved = keys[i];
    std::size_t to = i;
    for (; to > 0 && moved.key < keys[to - 1].key; --to) {
      keys[to] = keys[to - 1];
    }
    keys[to] = moved;
  }
}

}  // namespace

void sort_keys(std::span<SortKey> keys, std::vector<SortKey>& scratch) {
  if (std::ranges::is_sorted(keys, {}, &SortKey::key)) {
    return;
  }
  if (keys.size() <= kTiny) {
    insertion_sort(keys);
    return;
  }
  if (keys.size() < kSmall) {
    std::ranges::stable_sort(keys, {}, &SortKey::key);
    return;
  }
  if (scratch.size() < keys.size()) {
    scratch.resize(keys.size());
  }
  std::span<SortKey> from = keys;
  std::span<SortKey> to = std::span(scratch).first(keys.size());
  const std::uint64_t bits = varying_bits(keys);
  const auto last = static_cast<unsigned>(std::bit_width(bits));
  for (auto shift = static_cast<unsigned>(std::countr_zero(bits)); shift < last;
       shift += kDigitBits) {
    radix_pass(from, to, shift);
    std::swap(from, to);
  }
  if (from.data() != keys.data()) {
    std::ranges::copy(from, keys.begin());
  }
}

}  // namespace blksweep
