#include "dataset/data_files.h"

#include <fcntl.h>

#include <cerrno>

namespace blksweep {

Result<DataFiles> DataFiles::open_root(const Catalog& catalog) {
  const std::string root(catalog.root);
  Fd fd(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) {
    return sys_error(errno, "open the data set's directory " + root);
  }
  return DataFiles(catalog, std::move(fd));
}

int DataFiles::open(std::uint32_t file, int flags, std::string& scratch) const {
  scratch.assign(catalog_->path(file));
  int fd = open_regular_at(root_.get(), scratch.c_str(), flags | O_NOATIME, links_);
  if (fd < 0 && errno == EPERM) {  // O_NOATIME is for the owner and root
    fd = open_regular_at(root_.get(), scratch.c_str(), flags, links_);
  }
  return fd < 0 ? -errno : fd;
}

}  // namespace blksweep
