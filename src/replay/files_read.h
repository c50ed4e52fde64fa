// The files that a file trace reads, each as long as what it reads of it.
//
// Errors:  usage for a block trace; as the reader's.
// Threads: one owner of the reader, which is at its end afterwards.
#pragma once

#include <atomic>
#include <vector>

#include "base/result.h"
#include "dataset/make_named.h"
#include "trace/trace_file.h"

namespace blksweep {

Result<std::vector<NamedSize>> files_read(TraceReader& trace, const std::atomic<bool>& stop);

}  // namespace blksweep
