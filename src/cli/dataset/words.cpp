#include "cli/dataset/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/units.h"

namespace blksweep {
namespace {

template <class E, std::size_t N>
Result<E> one_of(std::string_view text, const std::array<std::string_view, N>& names) {
  const auto at = std::ranges::find(names, text);
  if (at == names.end()) {
    return usage_error(fmt::format("'{}' is not one of {}", text, joined(names, ", ")));
  }
  return static_cast<E>(at - names.begin());
}

}  // namespace

Result<PackFormat> parse_format(std::string_view text) {
  if (text == "files") {
    return PackFormat::files;
  }
  if (text == "tar") {
    return PackFormat::tar;
  }
  if (text == "records") {
    return PackFormat::records;
  }
  return usage_error(fmt::format("'{}' is not one of files, tar, records", text));
}

Result<Arrangement> parse_arrangement(std::string_view text) {
  if (text == "by-class") {
    return Arrangement::by_class;
  }
  if (text == "mixed") {
    return Arrangement::mixed;
  }
  return usage_error(fmt::format("'{}' is not one of by-class, mixed", text));
}

Result<PackLayout> parse_layout(std::string_view text) {
  if (text == "tar") {
    return PackLayout::tar;
  }
  return text == "files" ? Result<PackLayout>(PackLayout::files)
                         : usage_error(fmt::format("'{}' is not one of files, tar", text));
}

Result<ElementType> parse_element(std::string_view text) {
  return one_of<ElementType>(text, kElementNames);
}

Result<Codec> parse_codec(std::string_view text) { return one_of<Codec>(text, kCodecNames); }

Result<int> parse_level(std::string_view text) {
  BLKSWEEP_TRY(const std::uint64_t n, parse_count(text));
  if (n < 1 || n > 100) {
    return usage_error(fmt::format("'{}' is not a level of compression", text));
  }
  return static_cast<int>(n);
}

}  // namespace blksweep
