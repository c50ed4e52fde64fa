// Opening files that others may swap while we look: never waits (a FIFO), never becomes our
// terminal, and what was opened is a regular file.
//
// Links:   `beneath`: a path is resolved below its folder; an absolute link, or one that leaves the
//          folder, is EXDEV. `one_mount`: and so is what another mount covers. `anywhere`: as
//          openat(2). `none`: a link on the way is ELOOP, as is a kernel that cannot look for one.
// Errors:  as openat(2); ESTALE: it is no regular file.
// Reading: the descriptor waits as any other one does.
// Threads: any.
// Source:  openat2(2) RESOLVE_BENEATH, RESOLVE_NO_XDEV, RESOLVE_NO_SYMLINKS (Linux 5.6); before,
//          links are refused as the last part of a path only (O_NOFOLLOW).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace blksweep {

enum class Links { none, one_mount, beneath, anywhere };

// A descriptor, or -1 and errno. `flags`: O_DIRECT, O_NOATIME ... beside O_RDONLY.
int open_regular_at(int folder, const char* path, int flags, Links links);
// The same, and its access time stays where that is allowed (O_NOATIME is for the owner and root).
int open_quietly_at(int folder, const char* path, int flags, Links links);
// The same without the look at its type: folders, and O_PATH.
int open_at(int folder, const char* path, int flags, Links links);

// Opened only after a look that opens nothing (O_PATH): devices do things when they are opened (a
// watchdog, a tape). -1 and ESTALE: it is not of that kind (S_IFREG, S_IFBLK).
int open_kind_at(int folder, const char* path, int flags, mode_t kind);

// A file that the user named: its own last name may be a link.
Result<Fd> open_regular(const std::string& path);
// All of it. Errors: larger than `most` bytes, or shorter than it said.
Result<std::string> read_regular(const std::string& path, std::size_t most, uid_t* owner = nullptr);

}  // namespace blksweep
