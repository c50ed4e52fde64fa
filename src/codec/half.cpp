#include "codec/half.h"

#include <bit>
#include <cassert>
#include <cstring>

namespace blksweep {
namespace {

static_assert(std::endian::native == std::endian::little, "arrays are copied as they are");

constexpr std::uint32_t kInfinity = 0x7F800000;       // of float32, without its sign
constexpr std::uint32_t kOverflows = 0x477FF000;      // 65520: halfway to what would be 2^16
constexpr std::uint32_t kLeastNormal = 0x38800000;    // 2^-14
constexpr std::uint32_t kHalfOfLeast = 0x33000000;    // 2^-25: half of the least subnormal
constexpr std::uint32_t kExponentShift = 112U << 23;  // difference of the biases, 127 - 15

// Of a magnitude whose half has no implicit one: units of 2^-24.
std::uint32_t subnormal(std::uint32_t magnitude) {
  const std::uint32_t shift = 126 - (magnitude >> 23);
  const std::uint32_t mantissa = (magnitude & 0x7FFFFF) | 0x800000;
  const std::uint32_t units = mantissa >> shift;
  const std::uint32_t rest = mantissa & ((1U << shift) - 1);
  const std::uint32_t tie = 1U << (shift - 1);
  return units + (rest > tie || (rest == tie && (units & 1) != 0) ? 1 : 0);
}

std::uint32_t half_magnitude(std::uint32_t magnitude) {
  if (magnitude > kInfinity) {
    return 0x7E00 | ((magnitude >> 13) & 0x3FF);
  }
  if (magnitude >= kOverflows) {
    return 0x7C00;
  }
  if (magnitude >= kLeastNormal) {
    // A carry out of the mantissa goes into the exponent, as it should.
    const std::uint32_t biased = magnitude - kExponentShift;
    return (biased + 0xFFF + ((biased >> 13) & 1)) >> 13;
  }
  return magnitude < kHalfOfLeast ? 0 : subnormal(magnitude);
}

}  // namespace

std::uint16_t half_of(std::uint32_t float_bits) {
  const std::uint32_t sign = (float_bits >> 16) & 0x8000;
  return static_cast<std::uint16_t>(sign | half_magnitude(float_bits & 0x7FFFFFFF));
}

void floats_to_halves(std::span<const std::byte> floats, std::span<std::byte> halves) {
  assert(floats.size() % 4 == 0 && floats.size() == 2 * halves.size());
  for (std::size_t i = 0; i < floats.size() / 4; ++i) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, floats.data() + 4 * i, sizeof bits);
    const std::uint16_t half = half_of(bits);
    std::memcpy(halves.data() + 2 * i, &half, sizeof half);
  }
}

}  // namespace blksweep
