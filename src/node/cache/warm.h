// Reading files into the page cache as fast as the device gives them.
//
// Pieces:  runs of bytes of files, asked for in the order of their device addresses, many at once
//          (os/memory/readahead_batch.h), with nothing copied to user space. Each piece is then
//          seen to be there, and read the ordinary way where readahead left it out (a filesystem
//          without it, a limit on its length).
// Metadata: `look_up` brings dentries and inodes in alone.
// Errors:  files that cannot be read are counted, the first is named; memory that is too small
//          shows as pages that are not resident afterwards.
// Threads: makes its own and joins them before it returns; open() is called from all of them.
// Source:  readahead(2); docs/cache.md has the figures.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "node/cache/tree.h"
#include "plan/catalog.h"

namespace blksweep {

struct WarmPiece {
  std::uint64_t address = 0;  // on the device; only its order matters
  std::uint64_t offset = 0, length = 0;
  std::uint32_t file = 0;
};

struct WarmJob {
  std::vector<WarmPiece> pieces;  // sorted by address
  std::function<int(std::size_t, std::string&)> open;
  std::function<std::string(std::size_t)> path;
};

// The data of the files: holes are left out, they need no device. Asks FIEMAP of each file; `at`
// counts the files that have been asked.
WarmJob warm_job(const FileSet& files, const std::atomic<bool>& stop,
                 std::atomic<std::uint64_t>& at);
// The whole files of a catalog, holes too, which must outlive the job.
WarmJob warm_job(const Catalog& catalog);

struct WarmOutcome {
  std::uint64_t bytes = 0;   // of all pieces
  std::uint64_t failed = 0;  // pieces
  std::string first_error;
  std::int64_t ns = 0;
  bool interrupted = false;
};

// `at` counts the bytes that are there.
WarmOutcome warm_pieces(const WarmJob& job, const std::atomic<bool>& stop,
                        std::atomic<std::uint64_t>& at);

// stat(2) of each file, in inode order; its folders are in already. `at` counts the files.
WarmOutcome look_up(const FileSet& files, const std::atomic<bool>& stop,
                    std::atomic<std::uint64_t>& at);

}  // namespace blksweep
