// Files with given names and sizes, with the content of make_dataset(): in the place of data that a
// node does not have.
//
// Names:   relative, of ordinary parts; folders on the way are made. What climbs (`..`, absolute)
//          is refused before anything is written.
// Order:   created by name, as an archive leaves them.
// Errors:  as make_dataset(); a name that is a folder, too, is one.
// Threads: one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "dataset/make.h"

namespace blksweep {

struct NamedSize {
  std::string name;
  std::uint64_t bytes = 0;
};

// Of `settings` the directory and the seed count.
Result<MakeReport> make_named(MakeSettings settings, const std::vector<NamedSize>& files,
                              const MakeProgress& progress);

}  // namespace blksweep
