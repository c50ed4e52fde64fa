// Contents: what a data set of a spec held when it was made, in a file beside its stamp.
//
// Why:     a stamp says what was asked for. A file that was removed, cut, written to or exchanged
//          since then leaves it as it is: the experiment would be of other data than the spec's.
// Holds:   how many files, their bytes, and a hash of every path with its inode, size and time of
//          writing: files that are made in one tick of the clock have the same time.
// Errors:  one line that names the folder, and what it holds now.
// Threads: pure but for the files.
#pragma once

#include <string>

#include "base/result.h"

namespace blksweep {

Result<std::string> contents_of(const std::string& folder);
// On disk when it returns.
Result<> keep_contents(const std::string& file, const std::string& folder);
// That the folder holds what was kept; `made_anew`: what to remove, so that it is made anew.
Result<> check_contents(const std::string& file, const std::string& folder,
                        const std::string& made_anew);

}  // namespace blksweep
