#include "os/block/own_reads.h"

#include <algorithm>
#include <charconv>

#include "os/file/file.h"

namespace blksweep {
namespace {

std::optional<std::uint64_t> count_of(std::string_view key, const std::string& io) {
  const std::string text = "\n" + whole_text(io);
  const std::size_t at = text.find(key);
  std::uint64_t n = 0;
  if (at == std::string::npos ||
      std::from_chars(text.data() + at + key.size(), text.data() + text.size(), n).ec !=
          std::errc{}) {
    return std::nullopt;
  }
  return n;
}

}  // namespace

std::optional<std::uint64_t> own_read_bytes(const std::string& io) {
  return count_of("\nread_bytes: ", io);  // not the end of cancelled_read_bytes
}

std::optional<std::uint64_t> called_read_bytes(const std::string& io) {
  return count_of("\nrchar: ", io);
}

std::optional<std::uint64_t> own_written_bytes(const std::string& io) {
  return count_of("\nwrite_bytes: ", io);  // not the end of cancelled_write_bytes
}

bool others_read_for_us(std::string_view filesystem) {
  return filesystem.starts_with("fuse") || filesystem == "zfs" || filesystem == "bcachefs";
}

}  // namespace blksweep
