// Where the files of scripts/ are: figures, models.
//
// $BLKSWEEP_SCRIPTS, else scripts beside the program (a bundle's), else ../scripts beside the build
// folder of the program, else ../share/blksweep/scripts of an installed one.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace blksweep {

// In the order in which to look; they need not exist.
std::vector<std::filesystem::path> script_folders();
// Before root runs or believes what is in such a folder: nobody else can have put it there, but
// those who could exchange this program itself.
Result<> check_scripts(const std::filesystem::path& folder);
// Empty when it is not set.
std::string environment(const char* name);

}  // namespace blksweep
