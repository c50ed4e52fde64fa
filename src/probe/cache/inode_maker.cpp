#include "probe/cache/inode_maker.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace blksweep {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kMakers = {{
    {"ext4", "ext4_alloc_inode"},
    {"xfs", "xfs_inode_alloc"},
    {"btrfs", "btrfs_alloc_inode"},
}};

// "address kind name [module]"; kind and name are empty of a line that is none.
struct Symbol {
  explicit Symbol(std::string_view line) {
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), at, 16);
    const std::size_t behind = static_cast<std::size_t>(end - line.data()) + 3;
    if (error == std::errc() && behind < line.size()) {
      kind = line[behind - 2];
      name = line.substr(behind, line.find('\t', behind) - behind);
    }
  }
  std::uint64_t at = 0;
  char kind = ' ';
  std::string_view name;
};

std::optional<KernelFunction> kernel_function(std::string_view name, const std::string& kallsyms) {
  std::ifstream in(kallsyms);
  std::uint64_t begin = 0;
  std::vector<std::uint64_t>
      functions;  // those of a module are in no order, with data between them
  for (std::string line; std::getline(in, line);) {
    const Symbol s(line);
    begin = s.name == name ? s.at : begin;
    if (s.kind == 't' || s.kind == 'T') {
      functions.push_back(s.at);
    }
  }
  std::erase_if(functions, [&](std::uint64_t at) { return at <= begin; });
  const auto end = std::ranges::min_element(functions);
  return begin != 0 && end != functions.end() ? std::optional(KernelFunction{begin, *end - begin})
                                              : std::nullopt;
}

}  // namespace

std::optional<KernelFunction> inode_maker(const std::string& filesystem,
                                          const std::string& kallsyms) {
  const auto* maker = std::ranges::find(kMakers, filesystem, [](const auto& m) { return m.first; });
  return maker == kMakers.end() ? std::nullopt : kernel_function(maker->second, kallsyms);
}

std::optional<KernelFunction> dentry_maker(const std::string& kallsyms) {
  return kernel_function("__d_alloc", kallsyms);
}

}  // namespace blksweep
