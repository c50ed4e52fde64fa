// The kernel's lists of choices mark the one that is taken: "none [mq-deadline] kyber".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace blksweep {

// "" without a mark.
inline std::string marked_word(std::string_view text) {
  const std::size_t open = text.find('[');
  const std::size_t close = text.find(']', open == std::string_view::npos ? 0 : open);
  if (open == std::string_view::npos || close == std::string_view::npos) {
    return {};
  }
  return std::string(text.substr(open + 1, close - open - 1));
}

}  // namespace blksweep
