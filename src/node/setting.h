// A setting of the kernel: one small file of /sys, /proc/sys or a cgroup.
//
// Reading: the text without its line end; of a file that lists choices and marks the present one
//          (queue/scheduler: "none [bfq] kyber") the marked word, which is what is to be written.
// Writing: never creates a file, never follows a link in the last place, regular files only: a
//          block device is refused.
// Errors:  one line with file, text and what the kernel said; sys_errno is its errno.
// Threads: any.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace blksweep {

Result<std::string> read_setting(const std::string& path);
Result<> write_setting(const std::string& path, const std::string& text);

// The words of such a list (base/marked_word.h): "none [bfq]" -> {none, bfq}.
std::vector<std::string> words_of(std::string_view text);

// Whether the file is really below one of the folders, links in its path resolved.
Result<bool> is_really_below(const std::string& path, const std::vector<std::string>& folders);

}  // namespace blksweep
