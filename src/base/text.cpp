#include "base/text.h"

#include <algorithm>

namespace blksweep {

std::string one_line(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }, ' ');
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

}  // namespace blksweep
