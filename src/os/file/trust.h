// Whose files may root act on as if they were its own?
//
// Trusted: root, the effective user, and for root the user that sudo says has called it
//          (SUDO_UID): root's environment is root's.
// Errors:  one line that names the object, its owner and the way out.
// Threads: any.
#pragma once

#include <sys/stat.h>

#include <string>

#include "base/result.h"

namespace blksweep {

bool trusted_owner(uid_t owner);
// Root of the node, not of a user namespace (a rootless container), who is an ordinary user.
bool is_real_root();
std::string owner_name(uid_t owner);  // "alice", else "uid 1000"

// A folder in which nobody else can put, replace or remove a name: of a trusted owner, and not
// writable by others, or sticky (in which only what is already there needs to be looked at).
Result<> check_trusted_folder(const std::string& path);

// A file that nobody else can have written or can write: its owner and mode.
Result<> check_trusted_file(const std::string& path);

// Before root writes below `folder` (which need not be there yet): nobody else can exchange it, a
// folder above it or a link on the way, so that names mean what they say; what is missing on the
// way, nobody else can make. Nothing is asked of other users.
enum class Sticky { allowed, refused };  // of the folder itself: others can put names beside ours
Result<> check_way_to(const std::string& folder, Sticky last = Sticky::allowed);

// Makes `folder` with those above it, unless it is there, and sees that nobody has put one of
// theirs under its name meanwhile: from then on its name means it.
Result<> make_folder_of_own(const std::string& folder);

}  // namespace blksweep
