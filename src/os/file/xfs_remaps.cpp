#include "os/file/xfs_remaps.h"

#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <sstream>
#include <system_error>

#include "os/file/file.h"

namespace blksweep {

std::optional<std::string> xfs_remaps(int fd) {
  struct statfs fs {};
  struct stat st {};
  if (::fstatfs(fd, &fs) != 0 || ::fstat(fd, &st) != 0 || fs.f_type != XFS_SUPER_MAGIC) {
    return std::nullopt;
  }
  std::error_code ec;
  const std::string node = fmt::format("/sys/dev/block/{}:{}", major(st.st_dev), minor(st.st_dev));
  const std::string disk = std::filesystem::read_symlink(node, ec).filename().string();
  std::istringstream in(whole_text("/sys/fs/xfs/" + disk + "/stats/stats"));
  std::string found;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("refcntbt ") || line.starts_with("rtrefcntbt ")) {
      found += line + "\n";
    }
  }
  return found;
}

}  // namespace blksweep
