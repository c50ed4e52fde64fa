#include "dataset/data_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

namespace blksweep {

Result<DataFiles> DataFiles::open_root(const Catalog& catalog) {
  const std::string root(catalog.root);
  Fd fd(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) {
    return sys_error(errno, "open the data set's directory " + root);
  }
  return DataFiles(catalog, std::move(fd));
}

Result<DataFiles> DataFiles::open_same_root(const Catalog& catalog) {
  BLKSWEEP_TRY(DataFiles data, open_root(catalog));
  if (data.inodes_stay_ && !catalog.files.empty()) {
    std::string path;
    const Fd first(std::max(-1, data.open(0, 0, path)));
    if (first && !data.same(0, first.get())) {
      return fail(fmt::format(
          "{}: another folder is there than the one that was compared with the catalog ({} is "
          "another file): put the first one back, or scan again",
          catalog.root, path));
    }
  }
  return data;
}

int DataFiles::open(std::uint32_t file, int flags, std::string& scratch) const {
  scratch.assign(catalog_->path(file));
  const int fd = open_quietly_at(root_.get(), scratch.c_str(), flags, links_);
  return fd < 0 ? -errno : fd;
}

bool DataFiles::same(std::uint32_t file, int opened) const {
  struct stat st {};
  return ::fstat(opened, &st) == 0 && st.st_ino == catalog_->files[file].inode;
}

Result<> DataFiles::use_handles() {
  BLKSWEEP_TRY(handles_, FileHandles::of(*catalog_, *this));
  return {};
}

int DataFiles::open_same(std::uint32_t file, int flags, std::string& scratch) const {
  if (handles_) {
    return handles_->open(root_.get(), file, flags);
  }
  const int opened = open(file, flags, scratch);
  if (opened < 0 || !inodes_stay_ || links_ != Links::anywhere || same(file, opened)) {
    return opened;
  }
  const Fd close_it(opened);
  return -ESTALE;
}

std::string why_not_opened(int error) {
  switch (error) {
    case ENOENT:
      return "missing";
    case ESTALE:
      return "no longer a regular file";
    case EXDEV:
    case ELOOP:
      return "now behind a link or a mount that leads out of the data set";
    default:
      return std::strerror(error);
  }
}

}  // namespace blksweep
