// The one catalog of all ranks: rank 0 scans or loads it, all have it, each looks whether its files
// are those.
//
// Same:      the files themselves (size, times, inode), on a shared filesystem or the same node; or
//            copies with the same names, sizes and labels, whose own places on the disk the rank
//            then reads by.
// Errors:    the first rank whose data differ, or are not there, named; the same for all ranks.
// Threads:   those of Comm.
#pragma once

#include <functional>

#include "loader/source.h"
#include "mpi/comm.h"

namespace blksweep {

struct SharedData {
  Source source;
  bool copied = false;  // its files are other ones than rank 0's, of the same names and sizes
};

// `arrive`: called when this rank begins to wait for others that look at their files.
Result<SharedData> open_shared(const Comm& comm, const SourceSettings& settings,
                               const std::function<void()>& arrive);

}  // namespace blksweep
