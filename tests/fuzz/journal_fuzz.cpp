// Arbitrary bytes as a journal, as they are and with the checksum of each line made right; what is
// accepted is numbered as a journal is, and no longer than what was read.
#include <fmt/format.h>
#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "node/journal/journal.h"

namespace {

constexpr const char* kPath = "/run/blksweep/journal/12-34";
constexpr const char* kBoot = "b";

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

void look(const std::string& text) {
  const auto journal = blksweep::parse_journal(kPath, text, kBoot);
  if (!journal) {
    require(journal.error().message().find('\n') == std::string::npos);
    return;
  }
  require(journal->valid_bytes <= text.size());
  for (std::size_t i = 0; i < journal->records.size(); ++i) {
    require(journal->records[i].number == i + 1);
  }
}

std::string with_checksums(std::string_view text) {
  std::string out = blksweep::header_line({.id = {12, 34}, .command = "c"}, kBoot);
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    out += fmt::format("{:016x} {}\n", XXH3_64bits(line.data(), line.size()), line);
    text.remove_prefix(line.size() < text.size() ? line.size() + 1 : line.size());
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  look(text);
  look(with_checksums(text));
  return 0;
}
