#include "os/own_reads.h"

#include <algorithm>
#include <charconv>

#include "os/file.h"

namespace blksweep {

std::optional<std::uint64_t> own_read_bytes(const std::string& io) {
  constexpr std::string_view kKey = "\nread_bytes: ";  // not the end of cancelled_read_bytes
  const std::string text = "\n" + whole_text(io);
  const std::size_t at = text.find(kKey);
  std::uint64_t n = 0;
  if (at == std::string::npos ||
      std::from_chars(text.data() + at + kKey.size(), text.data() + text.size(), n).ec !=
          std::errc{}) {
    return std::nullopt;
  }
  return n;
}

bool others_read_for_us(std::string_view filesystem) {
  return filesystem.starts_with("fuse") || filesystem == "zfs" || filesystem == "bcachefs";
}

}  // namespace blksweep
