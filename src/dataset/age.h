// An aged filesystem: free space in holes between older files, as years of writing and deleting
// leave it.
//
// Method:  small files are allocated until 97 % are in use (fallocate(2); nothing is written), then
//          files in random order are removed until the wanted share is. What is written next goes
//          into the holes. The rest stays in a folder of its own (kAgedFolder).
// Errors:  what the system says of the file; a share that is no room to fill is usage. A stop that
//          was asked for (os/process/signals.h) is Exit::interrupted.
// Threads: one.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "dataset/make.h"

namespace blksweep {

inline constexpr const char* kAgedFolder = ".blksweep-aged";

struct Aging {
  double used = 50;  // percent of the filesystem, before data come to it
  SizeSpec size{.low = {std::uint64_t{32} << 10}};
  std::uint64_t seed = 1;
};

// `mount` is the root of a filesystem with nothing on it.
Result<> age_filesystem(const std::string& mount, const Aging& aging);

}  // namespace blksweep
