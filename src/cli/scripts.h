// Where the files of scripts/ are: figures, models.
//
// $BLKSWEEP_SCRIPTS, else scripts beside the program (a bundle's), else ../scripts beside the build
// folder of the program, else ../share/blksweep/scripts of an installed one.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace blksweep {

// In the order in which to look; they need not exist.
std::vector<std::filesystem::path> script_folders();
// Empty when it is not set.
std::string environment(const char* name);

}  // namespace blksweep
