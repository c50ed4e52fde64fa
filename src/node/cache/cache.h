// The page, dentry and inode caches as an experiment's starting point: cold, warm, or known.
//
// Cold:    sync, then 3 into /proc/sys/vm/drop_caches, then cachestat as proof. Asking opens every
//          file and so brings its inode back; caches are dropped a second time afterwards.
// Rights:  without root only the data of the files can be evicted (fsync, POSIX_FADV_DONTNEED);
//          metadata stays warm, which a warning says.
// Truth:   pages that are locked or mapped by any process survive; residency after says so.
// Errors:  make_cold and warm do not fail on single files: they are counted in
//          Residency.unreadable.
// Source:  Documentation/admin-guide/sysctl/vm.rst, posix_fadvise(2); docs/fio-twin.md "Cold
//          start".
// Threads: one at a time; drop_all acts on the whole node.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "node/cache/drop.h"
#include "os/memory/residency.h"
#include "plan/catalog.h"

namespace blksweep {

// sync and drop_caches 3: data, dentries and inodes of the whole node. Exit::unsupported without
// the right to write /proc/sys/vm/drop_caches.
Result<> drop_all();

// What part of the catalog's files is in the page cache. Opens each file once: their inodes are
// warm afterwards.
Residency measure(const Catalog& catalog);

struct CacheChange {
  Residency before, after;
  bool metadata_cold = false;  // dentries and inodes were dropped last of all
  std::vector<std::string> warnings;
};

// As cold as this process may make it; what stayed resident is in `after` and, beyond the `pinned`
// bytes that are meant to stay, in a warning.
CacheChange make_cold(const Catalog& catalog, Bytes pinned = {0});

// After `drop` alone of caches that hold everything: what an epoch that follows another one finds.
// Asking for the residency after inodes were dropped brings them back; they are dropped again.
// Errors: as drop_node().
Result<CacheChange> drop_after(CacheChange warmed, const Catalog& catalog, DropKind kind);

// Reads every file through the page cache, in address order: all data pages, inodes and dentries
// are resident afterwards (as far as memory allows: see `after`).
CacheChange warm(const Catalog& catalog);

}  // namespace blksweep
