// Text with units: no input crashes a parser, an accepted value survives a second look, and what is
// refused is quoted in one usage error.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/units.h"

namespace blksweep {
namespace {

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

template <class T>
void check_refusal(const Result<T>& result, std::string_view text) {
  if (result) {
    return;
  }
  require(result.error().exit_code == Exit::usage);
  require(result.error().message().find(std::string(text)) != std::string::npos);
}

// A number is parsed whole: with anything behind it the text is refused.
void check_count(std::string_view text) {
  const auto value = parse_count(text);
  check_refusal(value, text);
  if (value) {
    require(parse_count(std::to_string(*value)) == *value);
    require(!parse_count(std::string(text) + "x"));
  }
}

void check_bytes(std::string_view text) {
  const auto value = parse_bytes(text);
  check_refusal(value, text);
  if (value) {
    require(parse_bytes(std::to_string(value->n) + "B").has_value());
    require(!format_bytes(*value).empty());
    require(!parse_bytes(std::string(text) + "x"));
  }
}

}  // namespace
}  // namespace blksweep

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  blksweep::check_count(text);
  blksweep::check_bytes(text);
  blksweep::check_refusal(blksweep::parse_rate(text), text);
  const auto duration = blksweep::parse_duration(text);
  blksweep::check_refusal(duration, text);
  if (duration) {
    blksweep::require(duration->count() >= 0);
    blksweep::require(!blksweep::format_duration(*duration).empty());
  }
  return 0;
}
