#include "cli/label_mix.h"

#include <fmt/format.h>

#include <charconv>

#include "base/units.h"

namespace blksweep {
namespace {

Result<double> parse_label_mix(const std::string& text) {
  double value = 0;
  const auto [rest, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec != std::errc{} || rest != text.data() + text.size() || !(value > 0 && value <= 1)) {
    return usage_error(fmt::format("'{}' is not above 0 and at most 1, such as 0.95", text));
  }
  return value;
}

}  // namespace

void add_label_mix(Command app, WindowQuestion& question) {
  add_parsed(app, "--label-mix", question.label_mix, parse_label_mix,
             "find the smallest window that mixes labels so well: 0.95");
}

Result<std::uint32_t> parse_seeds(std::string_view text) {
  BLKSWEEP_TRY(const std::uint64_t n, parse_count(text));
  if (n < 1 || n > 1000) {
    return usage_error(fmt::format("'{}' is not between 1 and 1000", text));
  }
  return static_cast<std::uint32_t>(n);
}

}  // namespace blksweep
