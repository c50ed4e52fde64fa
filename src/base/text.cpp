#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace blksweep {
namespace {

// Bytes of the character at the front; 0: none that UTF-8 has (overlong, surrogate, cut off).
std::size_t character(std::string_view text, char32_t& code) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const std::size_t bytes = first < 0x80                    ? 1
                            : first >= 0xC2 && first < 0xE0 ? 2
                            : first >= 0xE0 && first < 0xF0 ? 3
                            : first >= 0xF0 && first < 0xF5 ? 4
                                                            : 0;
  if (bytes == 0 || bytes > text.size()) {
    return 0;
  }
  code = bytes == 1 ? first : first & (0xFFU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) {
      return 0;
    }
    code = code << 6 | (byte(i) & 0x3F);
  }
  const bool overlong = (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000);
  const bool surrogate = code >= 0xD800 && code < 0xE000;
  return overlong || surrogate || code > 0x10FFFF ? 0 : bytes;
}

// C0, DEL, C1, line and paragraph separators, marks and overrides of direction.
bool acts(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x61C || c == 0x200E || c == 0x200F ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069) || c == 0xFEFF;
}

bool harmless(std::string_view text, bool newlines) {
  return std::ranges::all_of(
      text, [newlines](char c) { return (c >= ' ' && c < '\x7f') || (newlines && c == '\n'); });
}

}  // namespace

std::string printable(std::string_view text, bool newlines) {
  if (harmless(text, newlines)) {
    return std::string(text);
  }
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    char32_t code = 0;
    const std::size_t bytes = character(text.substr(at), code);
    const std::size_t taken = std::max<std::size_t>(bytes, 1);
    if ((bytes > 0 && !acts(code)) || (newlines && code == '\n')) {
      out += text.substr(at, taken);
    } else {
      for (const char c : text.substr(at, taken)) {
        out += fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
      }
    }
    at += taken;
  }
  return out;
}

std::string shell_word(std::string_view text) {
  constexpr std::string_view kPlain = "+,-./:=@_%";
  const bool plain = std::ranges::all_of(text, [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           kPlain.find(c) != std::string_view::npos;
  });
  if (plain && !text.empty()) {
    return std::string(text);
  }
  std::string out = "'";
  for (const char c : text) {
    out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return out + "'";
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    return std::string(text);
  }
  std::string quoted = "\"";
  for (const char c : text) {
    quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  }
  return quoted + '"';
}

std::string trimmed(std::string text) {
  text.erase(text.find_last_not_of(" \t") + 1);
  text.erase(0, text.find_first_not_of(" \t"));
  return text;
}

std::string one_line(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }, ' ');
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

}  // namespace blksweep
