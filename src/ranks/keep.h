// Keeps the one result of all ranks in a results database.
//
// Who:     rank 0, or its keeper where the ranks were cut off: then the row is incomplete, and says
//          what every rank had read.
// Errors:  as ResultStore, one line that names the file.
// Threads: one owner; a process that has MPI's threads may call it.
#pragma once

#include <string>

#include "base/result.h"
#include "ranks/result.h"
#include "store/ranks_records.h"

namespace blksweep {

struct RanksDatabase {
  std::string path;  // empty: nothing is kept
  std::string tool_version, git_revision, argv;
};

RanksRow ranks_row(const RanksResult& result, const RanksDatabase& where);
// "rank 0 (node a): ...": who could not keep it.
std::string not_kept(const Error& error, const std::string& host);
Result<> keep_ranks(const RanksResult& result, const RanksDatabase& where);
// That it can be written, before anything is read.
Result<> try_database(const RanksDatabase& where);

}  // namespace blksweep
