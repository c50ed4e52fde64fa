// LoaderOptions as the settings of an epoch: words and numbers of the public header, checked.
//
// Errors:  usage: an unknown word, a number out of range, or what excludes each other; the text
//          names the option and what it may be.
// Threads: pure functions.
#pragma once

#include <string_view>

#include "base/result.h"
#include "loader/loader.h"
#include "loader/settings.h"

namespace blksweep {

Result<LoaderSettings> settings_of(const LoaderOptions& options);
Result<bool> is_watched(std::string_view check);

}  // namespace blksweep
