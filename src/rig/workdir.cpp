#include "rig/workdir.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <span>

#include "disk/image.h"
#include "os/file/file.h"
#include "os/file/trust.h"

namespace blksweep {

namespace fs = std::filesystem;

Result<WorkPaths> WorkPaths::of(const std::string& workdir) {
  std::error_code ec;
  const fs::path real = fs::weakly_canonical(fs::absolute(workdir, ec), ec);
  if (ec) {
    return sys_error(ec.value(), "look at " + workdir);
  }
  std::string root = real.string();
  return WorkPaths{root.size() > 1 && root.ends_with('/') ? root.substr(0, root.size() - 1) : root};
}

std::string WorkPaths::image(const DiskSetup& d) const {
  return disk_folder(d) + "/disk" + kImageEnding;
}

std::string WorkPaths::data_folder(const Site& site) const {
  if (const auto* folder = std::get_if<FolderData>(&site.data->what)) {
    return site.disk == nullptr ? folder->path : mount(*site.disk) + "/" + folder->path;
  }
  return (site.disk == nullptr ? plain() : mount(*site.disk)) + "/" + site.data->name;
}

std::string WorkPaths::contents(const Site& site) const {
  return (site.disk == nullptr ? plain() : disk_folder(*site.disk)) + "/" + site.data->name +
         ".contents";
}

Result<Workdir> Workdir::open(const std::string& workdir) {
  BLKSWEEP_CHECK(check_way_to(workdir));
  BLKSWEEP_TRY(WorkPaths paths, WorkPaths::of(workdir));
  BLKSWEEP_CHECK(make_folder_of_own(paths.root));
  BLKSWEEP_CHECK(check_way_to(paths.root, Sticky::refused));
  const std::string path = paths.lock();
  Fd lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644));
  if (!lock) {
    return sys_error(errno, "open " + path);
  }
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return fail(fmt::format(
        "{} is in use by another session (pid {}): wait for its end, or name another workdir",
        paths.root, first_line(path)));
  }
  const std::string pid = fmt::format("{}\n", ::getpid());
  if (::ftruncate(lock.get(), 0) != 0) {
    return sys_error(errno, "write " + path);
  }
  BLKSWEEP_CHECK(write_full(lock.get(), std::as_bytes(std::span(pid)), path));
  return Workdir(std::move(paths), std::move(lock));
}

}  // namespace blksweep
