// The reads of a file trace as the samples of a catalog, in the order in which they were recorded:
// what `run` makes of them (order, merge, shuffle, caches, twin) is what the same accesses would
// have cost.
//
// Samples:  what a read returned (else asked for), cut off at the end of the file; a range that was
//           read twice is two samples. Labels are the first folders, as a scan has them.
// Left out: reads of files that the catalog does not have, of nothing, beyond the end of the file.
// Errors:   usage for a block trace; as the reader's; a trace of which nothing is left.
// Threads:  one owner of the reader, which is at its end afterwards.
#pragma once

#include <atomic>

#include "base/result.h"
#include "dataset/catalog_parts.h"
#include "replay/request.h"
#include "trace/trace_file.h"

namespace blksweep {

// Replaces the samples of `catalog`, which a scan has made.
Result<LeftOut> take_reads(TraceReader& trace, CatalogParts& catalog,
                           const std::atomic<bool>& stop);

}  // namespace blksweep
