#include "dataset/file_handles.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "base/fd.h"
#include "dataset/catalog_check.h"
#include "dataset/data_files.h"

namespace blksweep {
namespace {

// 0 or errno.
int handle_of(int fd, void* handle, int& mount_id) {
  return ::name_to_handle_at(fd, "", static_cast<file_handle*>(handle), &mount_id, AT_EMPTY_PATH) ==
                 0
             ? 0
             : errno;
}

std::string why_refused(int error) {
  switch (error) {
    case EPERM:
      return "it needs CAP_DAC_READ_SEARCH, which root has outside containers";
    case EXDEV:
      return "it is on another mount than the data set's folder";
    default:
      return std::strerror(error);
  }
}

tl::unexpected<Error> refused(const std::string& path, int error) {
  return unsupported(fmt::format("--open-by handle is refused for {}: {} (or --open-by path)", path,
                                 why_refused(error)));
}

}  // namespace

// 0 or errno.
int FileHandles::take(std::uint32_t file, int fd, int mount_id) {
  Handle& handle = handles_[file];
  handle.bytes = sizeof handle.room;
  int mount = 0;
  const int error = handle_of(fd, &handle, mount);
  return error == 0 && mount != mount_id ? EXDEV : error;
}

// The first one is opened by it, too: may it be? 0 or errno.
int FileHandles::try_one(std::uint32_t file, int mount) {
  const int opened = std::exchange(tried_, true) ? 0 : open(mount, file, 0);
  const Fd close_it(opened > 0 ? opened : -1);
  return opened < 0 ? -opened : 0;
}

Result<FileHandles> FileHandles::of(const Catalog& catalog, const DataFiles& data) {
  FileHandles handles(catalog.files.size());
  Handle root{.bytes = sizeof root.room, .type = 0, .room = {}};
  int mount_id = 0;
  if (const int error = handle_of(data.root(), &root, mount_id); error != 0) {
    return refused(std::string(catalog.root), error);
  }
  std::string path;
  for (const std::uint32_t file : files_by_inode(catalog)) {
    const Fd fd(std::max(-1, data.open_same(file, 0, path)));
    if (!fd) {
      continue;
    }
    int error = handles.take(file, fd.get(), mount_id);
    error = error == 0 ? handles.try_one(file, data.root()) : error;
    if (error != 0) {
      return refused(catalog.full_path(file), error);
    }
  }
  return handles;
}

int FileHandles::open(int mount, std::uint32_t file, int flags) const {
  const Handle& handle = handles_[file];
  if (handle.bytes == 0) {
    return -ENOENT;
  }
  // The kernel reads it only.
  auto* const of = reinterpret_cast<file_handle*>(const_cast<Handle*>(&handle));
  const int wanted = flags | O_RDONLY | O_CLOEXEC;
  int fd = ::open_by_handle_at(mount, of, wanted | O_NOATIME);
  if (fd < 0 && errno == EPERM) {  // not the owner's, nor root's
    fd = ::open_by_handle_at(mount, of, wanted);
  }
  return fd < 0 ? -errno : fd;
}

}  // namespace blksweep
