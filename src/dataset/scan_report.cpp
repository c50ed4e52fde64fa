#include "dataset/scan.h"

namespace blksweep {
namespace {

struct OddityText {
  std::string_view key, explanation;
};

// In the order of enum Oddity.
constexpr std::array<OddityText, kOddities> kTexts{{
    {"symlink_loop", "symbolic link loop, not followed"},
    {"directory_again", "link to a folder that was already scanned, not entered again"},
    {"dangling_symlink", "dangling symbolic link, left out"},
    {"outside_link", "symbolic link out of the folder, left out (--follow-links takes it)"},
    {"unreadable", "unreadable, left out"},
    {"vanished", "vanished while scanning, left out"},
    {"not_regular", "not a regular file, left out"},
    {"empty_file", "empty file, kept as a sample of 0 bytes"},
    {"too_large", "sample larger than 4095 MiB, left out (read it as --records)"},
    {"damaged_tar", "damaged tar file, left out"},
    {"odd_tail", "last record is short, kept"},
    {"other_device", "on another filesystem than the folder itself, kept without device addresses"},
}};

}  // namespace

std::string_view to_string(Oddity o) { return kTexts[static_cast<std::size_t>(o)].key; }
std::string_view explain(Oddity o) { return kTexts[static_cast<std::size_t>(o)].explanation; }

void ScanReport::add(Oddity kind, const std::string& what) {
  OddityCount& c = odd[static_cast<std::size_t>(kind)];
  if (++c.count <= OddityCount::kNamed) {
    c.named.push_back(what);
  }
}

std::uint64_t ScanReport::missing() const {
  return of(Oddity::unreadable).count + of(Oddity::vanished).count + of(Oddity::damaged_tar).count +
         of(Oddity::too_large).count;
}

}  // namespace blksweep
