// What epochs of ranks must have in common to be compared: the data, and the disk that they lie on.
//
// Errors:  none; what cannot be read is left out.
// Threads: any.
#pragma once

#include <cstdint>

#include "base/json.h"
#include "loader/source.h"

namespace blksweep {

// Whole units that hold a byte of a sample, each once, as far as the file has blocks: what the disk
// must give of an epoch. Direct reads take blocks of `align` bytes (read_align()), the page cache
// (1) its pages. A file of several names is one; holes and what is unwritten are read from nowhere.
std::uint64_t page_bytes(const Catalog& catalog, std::uint32_t align);

// data: the folder's absolute path; data_identity: of names, sizes and labels; data_bytes,
// page_bytes: of one epoch; disk: filesystem, its mount, the stack beneath and its queue.
Json data_facts(const Source& source, std::uint32_t align);

}  // namespace blksweep
