// One sweep at a time writes to a database.
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/vfs.h>

#include <cerrno>
#include <filesystem>

#include "os/block/holders.h"
#include "store/result_store.h"

namespace blksweep {

Result<bool> ResultStore::claim(std::string& holder) {
  const std::string& path = db_.name();
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) {
    return sys_error(errno, "open " + path);
  }
  struct statfs st {};
  if (::fstatfs(file.get(), &st) == 0 && st.f_type == NFS_SUPER_MAGIC) {
    return true;  // there flock is the lock that SQLite takes itself
  }
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    std::error_code ignored;
    holder = to_text(holders_of({std::filesystem::canonical(path, ignored)}));
    return false;
  }
  claim_ = std::move(file);
  return true;
}

}  // namespace blksweep
