#include "disk/speedup.h"

#include <fmt/format.h>

#include <charconv>

namespace blksweep {

Result<double> parse_speedup(std::string_view text) {
  constexpr double kMost = 1000;
  double n = 0;
  const char* end = text.data() + text.size();
  const auto [rest, ec] = std::from_chars(text.data(), end, n);
  if (ec != std::errc{} || rest != end || !(n >= 1 / kMost && n <= kMost)) {
    return usage_error(fmt::format("'{}' is no speed-up: give a number from 0.001 to 1000", text));
  }
  return n;
}

}  // namespace blksweep
