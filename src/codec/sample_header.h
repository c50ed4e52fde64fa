// SampleHeader: the 48 bytes before each packed sample that say how it is stored.
//
// With it decoding needs nothing else (docs/pack-format.md has the bytes), and its cost is bounded
// before anything is allocated: decoded_bytes is at most kMaxDecodedBytes.
//
// Units:   bytes. decoded_* is what training gets; source_bytes the file that was packed.
// Errors:  read_header() accepts arbitrary bytes; what does not hold together is an Error.
// Threads: pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"

namespace blksweep {

enum class Codec : std::uint8_t { none, zstd, lz4, blosc };
enum class ElementType : std::uint8_t { raw, fp16 };
inline constexpr std::array<std::string_view, 4> kCodecNames{"none", "zstd", "lz4", "blosc"};
inline constexpr std::array<std::string_view, 2> kElementNames{"raw", "fp16"};

struct SampleHeader {
  Codec codec = Codec::none;
  ElementType dtype = ElementType::raw;
  std::uint64_t decoded_bytes = 0;
  std::uint64_t decoded_hash = 0;   // XXH3-64 of the decoded bytes
  std::uint64_t payload_bytes = 0;  // behind the header
  std::uint64_t source_bytes = 0;
};

inline constexpr std::size_t kSampleHeaderBytes = 48;
inline constexpr std::uint64_t kMaxDecodedBytes = std::uint64_t{1} << 30;
// What packed files and members of packed shards end in.
inline constexpr std::string_view kPackedSuffix = ".blks";

std::array<std::byte, kSampleHeaderBytes> header_bytes(const SampleHeader& header);

// From the first bytes of a stored sample that is `stored_bytes` long. One that says more when
// decoded than `indexed_bytes`, what the index of its data set says, is an Error: it would take the
// room of those that lie behind it.
Result<SampleHeader> read_header(std::span<const std::byte> bytes, std::uint64_t stored_bytes,
                                 std::uint64_t indexed_bytes = kMaxDecodedBytes);

}  // namespace blksweep
