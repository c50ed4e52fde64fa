// The functions of the kernel that make inodes of a kind of filesystem, and dentries, by
// /proc/kallsyms.
//
// Errors:  nullopt where none is known, or addresses are hidden (kernel.kptr_restrict without
//          root).
// Threads: pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace blksweep {

struct KernelFunction {
  std::uint64_t begin = 0, bytes = 0;
};

std::optional<KernelFunction> inode_maker(const std::string& filesystem,
                                          const std::string& kallsyms = "/proc/kallsyms");

std::optional<KernelFunction> dentry_maker(const std::string& kallsyms = "/proc/kallsyms");

}  // namespace blksweep
