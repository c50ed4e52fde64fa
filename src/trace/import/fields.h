// Fields of a line and exact numbers in them.
//
// Threads: pure functions; views into the line.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace blksweep {

inline constexpr std::uint64_t kSector = 512;                                               // bytes
inline constexpr std::int64_t kMicro = 1'000, kMilli = 1'000'000, kSecond = 1'000'000'000;  // ns

// At the separator; blanks around each field go.
void split_at(std::string_view line, char separator, std::vector<std::string_view>& fields);
// At runs of blanks.
void split_at_blanks(std::string_view line, std::vector<std::string_view>& fields);

// The whole text is a number of that type.
template <class T>
std::optional<T> number(std::string_view text, int base = 10) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value)
                                                                  : std::nullopt;
}

// "12.000345" with a unit of that many nanoseconds, exactly: no detour through a double. More than
// nine decimals, a sign, or more than 292 years: nullopt.
std::optional<std::int64_t> decimal_ns(std::string_view text, std::int64_t unit_ns);

// `text` units of that many bytes or nanoseconds; nullopt where it is no number or too large.
std::optional<std::uint64_t> scaled(std::string_view text, std::uint64_t unit);

// "R", "read", "Write", "w" in any case.
std::optional<bool> is_read(std::string_view word);

// Whether a call reads or writes a file: "pread64", "fwrite_unlocked", "readv"; nullopt: neither,
// as "readlink" and "readdir" do.
std::optional<bool> is_read_call(std::string_view name);

tl::unexpected<Error> bad_field(const char* what, std::string_view text);

}  // namespace blksweep
