// How this program is started again, and where its folder is: also from a bundle (docs/bundle.md),
// whose launcher starts it through the loader it brings, so that /proc/self/exe names that loader;
// and without /proc.
//
// Threads: any; the first call before the working directory changes.
// Source:  getauxval(3): AT_BASE is 0 when the loader was started as the program.
#pragma once

#include <filesystem>

namespace blksweep {

// Absolute path to execute; "/proc/self/exe" where no better one is known.
std::filesystem::path own_program();

}  // namespace blksweep
