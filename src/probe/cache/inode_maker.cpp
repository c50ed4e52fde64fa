#include "probe/cache/inode_maker.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>

namespace blksweep {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kMakers = {{
    {"ext4", "ext4_alloc_inode"},
    {"xfs", "xfs_inode_alloc"},
    {"btrfs", "btrfs_alloc_inode"},
}};

}  // namespace

std::optional<KernelFunction> inode_maker(const std::string& filesystem,
                                          const std::string& kallsyms) {
  const auto* maker = std::ranges::find(kMakers, filesystem, [](const auto& m) { return m.first; });
  if (maker == kMakers.end()) {
    return std::nullopt;
  }
  std::ifstream in(kallsyms);
  std::uint64_t begin = 0;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::uint64_t at = 0;
    std::string kind, name;
    words >> std::hex >> at >> kind >> name;
    if (begin != 0 && at != begin) {
      return at > begin ? std::optional(KernelFunction{begin, at - begin}) : std::nullopt;
    }
    begin = name == maker->second ? at : begin;
  }
  return std::nullopt;
}

}  // namespace blksweep
