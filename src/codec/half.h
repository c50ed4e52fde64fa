// float32 to float16 (IEEE 754 binary32 to binary16), rounded to the nearest, ties to even.
//
// Too large becomes infinity, too small a subnormal or zero of the same sign; a NaN stays one (made
// quiet, the upper bits of its payload kept). What a training loop stores to halve its bytes.
// Threads: pure functions.
// Source:  IEEE 754-2019, 3.4 and 4.3.1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace blksweep {

// Both as bit patterns.
std::uint16_t half_of(std::uint32_t float_bits);

// Little-endian arrays. REQUIRES: floats.size() is 2 * halves.size() and a multiple of 4; they do
// not overlap.
void floats_to_halves(std::span<const std::byte> floats, std::span<std::byte> halves);

}  // namespace blksweep
