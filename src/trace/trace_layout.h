// The fixed parts of a trace file, as stored, little endian: docs/trace-format.md.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace blksweep {

static_assert(std::endian::native == std::endian::little, "the format is read as it stands");

// At 0; the facts follow as JSON, then the blocks.
struct TraceHead {
  std::array<char, 8> magic;
  std::uint32_t version;
  std::uint32_t facts_bytes;
  std::uint64_t facts_check;  // XXH3-64 of the JSON
  std::uint64_t check;        // XXH3-64 of the bytes before
};
static_assert(sizeof(TraceHead) == 32);
inline constexpr std::array<char, 8> kTraceMagic{'B', 'L', 'K', 'S', 'W', 'T', 'R', 'C'};

// The last bytes of a finished file. The index: `blocks` BlockPlaces, then the facts as JSON.
struct TraceTail {
  std::uint64_t index_offset;
  std::uint64_t blocks;
  std::uint32_t facts_bytes;
  std::uint32_t reserved;     // 0
  std::uint64_t index_check;  // XXH3-64 of places and JSON
  std::uint64_t check;        // XXH3-64 of the bytes before
  std::array<char, 8> magic;
};
static_assert(sizeof(TraceTail) == 48);
inline constexpr std::array<char, 8> kTailMagic{'B', 'L', 'K', 'S', 'W', 'E', 'N', 'D'};

inline constexpr std::uint32_t kMaxFactsBytes = 1U << 20;

}  // namespace blksweep
