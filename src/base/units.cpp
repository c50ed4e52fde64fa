#include "base/units.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <span>

namespace blksweep {
namespace {

struct Suffix {
  std::string_view text;
  double scale;
};

constexpr std::array kByteSuffixes{
    Suffix{"B", 1},        Suffix{"KiB", 1024.0}, Suffix{"MiB", 1048576.0}, Suffix{"GiB", 0x1p30},
    Suffix{"TiB", 0x1p40}, Suffix{"kB", 1e3},     Suffix{"KB", 1e3},        Suffix{"MB", 1e6},
    Suffix{"GB", 1e9},     Suffix{"TB", 1e12},
};
constexpr std::array kTimeSuffixes{
    Suffix{"ns", 1}, Suffix{"us", 1e3}, Suffix{"ms", 1e6}, Suffix{"s", 1e9}, Suffix{"min", 6e10},
};

// A number followed by exactly one of `suffixes`; nothing before, between or after.
Result<std::uint64_t> parse_scaled(std::string_view text, std::span<const Suffix> suffixes,
                                   const char* example) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, ec] = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  const std::string_view suffix(rest, static_cast<std::size_t>(end - rest));
  if (ec == std::errc{} && suffix.empty() && value == 0 && !std::signbit(value)) {
    return 0;
  }
  for (const Suffix& s : suffixes) {
    const double scaled = value * s.scale;
    if (ec == std::errc{} && suffix == s.text && !std::signbit(value) && scaled < 0x1p63) {
      return static_cast<std::uint64_t>(std::llround(scaled));
    }
  }
  return usage_error(fmt::format("'{}' is not a value with a unit, such as {}", text, example));
}

}  // namespace

Result<Bytes> parse_bytes(std::string_view text) {
  BLKSWEEP_TRY(const std::uint64_t n, parse_scaled(text, kByteSuffixes, "128KiB or 1GiB"));
  return Bytes{n};
}

Result<Nanos> parse_duration(std::string_view text) {
  BLKSWEEP_TRY(const std::uint64_t n, parse_scaled(text, kTimeSuffixes, "250us or 12ms"));
  return Nanos{static_cast<Nanos::rep>(n)};
}

Result<Bytes> parse_rate(std::string_view text) {
  if (text.ends_with("/s")) {
    if (auto rate = parse_bytes(text.substr(0, text.size() - 2)); rate) {
      return rate;
    }
  }
  return usage_error(fmt::format("'{}' is not a rate, such as 1000MB/s", text));
}

Result<std::uint64_t> parse_count(std::string_view text) {
  std::uint64_t n = 0;
  const char* end = text.data() + text.size();
  const auto [rest, ec] = std::from_chars(text.data(), end, n);
  if (text.empty() || ec != std::errc{} || rest != end) {
    return usage_error(fmt::format("'{}' is not a whole number", text));
  }
  return n;
}

Result<double> parse_percent(std::string_view text) {
  double percent = 0;
  const char* end = text.data() + text.size() - (text.ends_with('%') ? 1 : 0);
  const auto [rest, ec] = std::from_chars(text.data(), end, percent);
  if (ec != std::errc{} || rest != end || !text.ends_with('%') || !(percent > 0 && percent < 100)) {
    return usage_error(fmt::format("'{}' is not a share such as 3%", text));
  }
  return percent / 100;
}

std::string format_bytes(Bytes b) {
  constexpr std::array kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(b.n);
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", b.n) : fmt::format("{:.3g} {}", value, kUnits[unit]);
}

std::string format_duration(Nanos t) {
  constexpr std::array kUnits{"ns", "us", "ms", "s"};
  auto value = static_cast<double>(t.count());
  std::size_t unit = 0;
  while (std::abs(value) >= 999.5 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  return std::abs(value) >= 1000 ? fmt::format("{:.0f} {}", value, kUnits[unit])
                                 : fmt::format("{:.3g} {}", value, kUnits[unit]);
}

std::string format_count(std::uint64_t n) {
  std::string digits = std::to_string(n);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  }
  return digits;
}

std::string format_rounded(double x) {
  return format_count(static_cast<std::uint64_t>(std::llround(x)));
}

}  // namespace blksweep
