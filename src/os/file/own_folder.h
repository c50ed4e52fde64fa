// Folders below /run that hold what this program must be able to trust: state, journals, sockets.
//
// Rights:  0700, of this user, no symbolic link: whatever else stands there is refused, never
//          followed and never changed.
// Errors:  one line that names the folder and the way out.
// Threads: any.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "base/units.h"

namespace blksweep {

// `path` as a folder of this user alone; made (0700) if it is not there. Its parent must be there
// and be trusted by the caller.
Result<> own_folder(const std::string& path);

// The same for several below each other: own_folders("/run", {"blksweep", "pins"}).
Result<> own_folders(const std::string& base, const std::vector<std::string>& names);

// The same folders before something in them is read: nothing is made, and what is not there is
// fine. Those of root may be read by everybody who can.
Result<> check_own_folders(const std::string& base, const std::vector<std::string>& names);

// The folder, locked (flock) against all who do the same, as long as the Fd lives; nullopt when
// somebody else held it all that time.
Result<std::optional<Fd>> lock_folder(const std::string& path, Nanos patience);

// A regular file in such a folder, opened for reading: one link, of this user, not writable by
// others, not a symbolic link. ENOENT in sys_errno when there is none.
Result<Fd> open_own_file(const std::string& path);
// All of one that has `most` bytes at most.
Result<std::string> read_own_file(const std::string& path, std::size_t most);

}  // namespace blksweep
