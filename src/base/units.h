// Units as types inside the program, as suffixes at its edges.
//
// Units:   Bytes counts bytes, Nanos is integer nanoseconds; a sector is 512 bytes (the block
//          layer's unit, whatever the disk says).
// Errors:  parse_* accept a whole string with a mandatory unit ("128KiB", "250us", "1000MB/s");
//          anything else is a usage error that quotes the text. Plain 0 needs no unit.
// Threads: pure functions.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace blksweep {

inline constexpr std::uint32_t kSectorBytes = 512;
inline constexpr std::uint32_t kPageBytes = 4096;
inline constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

struct Bytes {
  std::uint64_t n = 0;
  constexpr auto operator<=>(const Bytes&) const = default;
};
using Nanos = std::chrono::nanoseconds;

// `unit` is a power of two.
constexpr std::uint64_t align_down(std::uint64_t n, std::uint64_t unit) { return n & ~(unit - 1); }
constexpr std::uint64_t align_up(std::uint64_t n, std::uint64_t unit) {
  return align_down(n + unit - 1, unit);
}

// "4KiB", "1.5MiB", "100MB", "512B"; binary and decimal prefixes up to T.
Result<Bytes> parse_bytes(std::string_view text);
// "250us", "12ms", "1.5s", "30ns", "2min".
Result<Nanos> parse_duration(std::string_view text);
// "1000MB/s", "1GiB/s": bytes per second.
Result<Bytes> parse_rate(std::string_view text);
// "3%", "0.5%": a share, above 0 and below 1.
Result<double> parse_percent(std::string_view text);
// A whole non-negative decimal number: "10x", "-1" and "" are errors.
Result<std::uint64_t> parse_count(std::string_view text);

// Three significant digits with a binary unit: "117 KiB", "1.84 GiB".
std::string format_bytes(Bytes b);
// Three significant digits with a unit: "12.3 ms".
std::string format_duration(Nanos t);
// 12345678 -> "12,345,678".
std::string format_count(std::uint64_t n);
std::string format_rounded(double x);  // the nearest count; x >= 0

}  // namespace blksweep
