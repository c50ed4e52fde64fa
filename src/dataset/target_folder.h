// The folder that a data set is written into.
//
// Errors:  one line; of content it names the folder and the way out, and begins with `doing`.
// Threads: any.
#pragma once

#include <string>

#include "base/result.h"

namespace blksweep {

// A fresh filesystem has lost+found in its root: that is no content.
Result<> refuse_content(const std::string& folder, const std::string& doing);

// Data and metadata on the device once, at the end: an fsync per file would cost far more.
Result<> sync_filesystem(const std::string& folder);

}  // namespace blksweep
