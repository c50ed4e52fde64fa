#include "rig/rig.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/log.h"
#include "dataset/target_folder.h"
#include "disk/device_mount.h"
#include "disk/disk.h"
#include "disk/image.h"
#include "disk/loop_device.h"
#include "model/model_spec.h"
#include "os/file/file.h"
#include "os/file/trust.h"
#include "os/memory/memory_room.h"
#include "os/process/signals.h"
#include "rig/contents.h"
#include "rig/stamp.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

Result<> make_sparse(const std::string& file, Bytes size) {
  Fd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd || ::ftruncate(fd.get(), static_cast<off_t>(size.n)) != 0) {
    return sys_error(errno, "create " + file);
  }
  return {};
}

// The copy in memory must not make the kernel end processes.
Result<> check_memory(const std::string& file, const std::string& disk) {
  struct stat st {};
  if (::stat(file.c_str(), &st) != 0) {
    return sys_error(errno, "look at " + file);
  }
  const std::uint64_t needed = static_cast<std::uint64_t>(st.st_blocks) * kSectorBytes;
  const std::uint64_t free = meminfo("MemAvailable").value_or(Bytes{needed}).n;
  if (needed > free) {
    return fail(fmt::format(
        "disk {}: an emulated disk is held in memory: {} are needed, {} available: make less data",
        disk, format_bytes({needed}), format_bytes({free})));
  }
  return {};
}

ModelSpec no_model() { return {.name = "none", .description = "", .timing = InstantSpec{}}; }

Result<> check_interrupt() {
  return stop_requested()
             ? Result<>(fail("interrupted: what was set up is taken down", Exit::interrupted))
             : Result<>();
}

}  // namespace

Result<> check_rig_rights(const RigSettings& settings) {
  for (const DiskSetup& d : settings.disks) {
    const auto* image = std::get_if<ImageDisk>(&d.what);
    Result<> allowed = image == nullptr ? Result<>()
                       : image->model   ? check_disk_rights()
                                        : check_image_rights();
    if (!allowed) {
      Error error = allowed.error();
      error.text = fmt::format("disk {}: {}", d.name, error.text);
      return tl::unexpected(std::move(error));
    }
  }
  return {};
}

std::string emulated_name(const WorkPaths& paths, const DiskSetup& disk) {
  return fmt::format("{}-{:08x}", disk.name,
                     static_cast<std::uint32_t>(XXH3_64bits(paths.root.data(), paths.root.size())));
}

std::string Rig::key() const { return "the rig in " + paths().root; }

Result<Rig> Rig::open(const RigSettings& settings, BuildListener listener) {
  BLKSWEEP_CHECK(check_rig_rights(settings));
  BLKSWEEP_TRY(Workdir workdir, Workdir::open(settings.workdir));
  BLKSWEEP_TRY(Borrowing borrowing, Borrowing::begin());
  Rig rig(settings, std::move(listener), std::move(workdir), std::move(borrowing));
  if (::geteuid() == 0) {
    BLKSWEEP_CHECK(put_back_left_behind(rig.key()));
  }
  return rig;
}

Result<std::string> Rig::ready(const Site& site) {
  BLKSWEEP_CHECK(check_interrupt());
  if (site.disk == nullptr) {
    BLKSWEEP_CHECK(build_plain(site));
  } else if (disk_up_ != site.disk->name) {
    BLKSWEEP_CHECK(down());
    BLKSWEEP_CHECK(up(*site.disk));
    disk_up_ = site.disk->name;
  }
  std::string folder = paths().data_folder(site);
  if (!std::holds_alternative<FolderData>(site.data->what)) {
    BLKSWEEP_CHECK(check_contents(paths().contents(site), folder,
                                  site.disk == nullptr ? folder : paths().image(*site.disk)));
  }
  return folder;
}

Result<> Rig::down() {
  disk_up_.clear();
  return borrowing_.restore();
}

Result<> Rig::up(const DiskSetup& disk) {
  BLKSWEEP_CHECK(make_folder_of_own(paths().mount(disk)));
  if (const auto* image = std::get_if<ImageDisk>(&disk.what)) {
    return up_image(disk, *image);
  }
  return up_device(disk, std::get<DeviceDisk>(disk.what));
}

Result<> Rig::up_device(const DiskSetup& disk, const DeviceDisk& device) {
  BLKSWEEP_TRY(const std::string node, real_device(device.device));
  const std::string mount = paths().mount(disk);
  BLKSWEEP_CHECK(borrowing_.add({.kind = LoanKind::mount,
                                 .key = key(),
                                 .what = fmt::format("{} on {}", device.device, mount),
                                 .path = mount,
                                 .text = node}));
  return mount_read_only(node, mount);
}

// Begun anew unless what is there is a beginning of what is wanted: where data lie depends on what
// was made, and removed, before.
Result<> Rig::up_image(const DiskSetup& disk, const ImageDisk& image) {
  const std::vector<std::string> parts = parts_of(*settings_, disk);
  const Stamp stamp(paths().stamp(disk));
  StampFound found = stamp.look(parts);
  std::error_code ignored;
  const bool there = fs::exists(paths().image(disk), ignored);
  if (found.state == StampState::absent && there) {
    return fail(
        fmt::format("{} is there, and no spec has made it: remove it, or name another "
                    "workdir",
                    paths().image(disk)));
  }
  if (found.parts == 0 || !there) {
    found = {};
    BLKSWEEP_CHECK(begin_image(disk, image));
  }
  if (found.parts < parts.size()) {
    BLKSWEEP_CHECK(stamp.begin());
    BLKSWEEP_CHECK(image.model ? start_emulated(disk, image, /*to_build=*/true)
                               : mount_image(disk, image));
    BLKSWEEP_CHECK(build_missing(disk, parts, found.parts));
    if (!image.model) {
      return {};
    }
    BLKSWEEP_CHECK(borrowing_.restore());
  }
  return image.model ? start_emulated(disk, image, /*to_build=*/false) : mount_image(disk, image);
}

Result<> Rig::begin_image(const DiskSetup& disk, const ImageDisk& image) {
  note(fmt::format("disk {}: made anew, {} of {}", disk.name, format_bytes(image.size),
                   image.filesystem));
  BLKSWEEP_CHECK(Stamp(paths().stamp(disk)).begin());
  BLKSWEEP_CHECK(remove_tree(paths().image(disk)));
  return make_sparse(paths().image(disk), image.size);
}

// The disk is up. Each data set is in the stamp when all of it is on the disk.
Result<> Rig::build_missing(const DiskSetup& disk, std::vector<std::string> parts,
                            std::size_t made) {
  const Stamp stamp(paths().stamp(disk));
  const auto* image = std::get_if<ImageDisk>(&disk.what);
  if (made == 0 && image != nullptr && image->aged) {
    note(fmt::format("disk {}: aged", disk.name));
    BLKSWEEP_CHECK(age_filesystem(paths().mount(disk), *image->aged));
  }
  std::size_t part = 1;
  for (const Site& site : sites(*settings_)) {
    if (site.disk != &disk) {
      continue;
    }
    if (++part > std::max<std::size_t>(made, 1)) {
      BLKSWEEP_CHECK(stamp.begin());
      BLKSWEEP_CHECK(build_data(site, place()));
      BLKSWEEP_CHECK(sync_filesystem(paths().mount(disk)));
      BLKSWEEP_CHECK(keep_contents(paths().contents(site), paths().data_folder(site)));
      BLKSWEEP_CHECK(
          stamp.keep({parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(part)}));
    }
  }
  return {};
}

Result<> Rig::mount_image(const DiskSetup& disk, const ImageDisk& image) {
  const std::string file = paths().image(disk);
  const unsigned loop = own_loop_number(file);
  BLKSWEEP_CHECK(borrowing_.add({.kind = LoanKind::image,
                                 .key = key(),
                                 .what = fmt::format("disk {} ({})", disk.name, file),
                                 .path = file,
                                 .text = std::to_string(loop)}));
  BLKSWEEP_CHECK(start_image(
      {.file = file, .filesystem = image.filesystem, .mount = paths().mount(disk), .loop = loop}));
  return {};
}

// To be built on, the image itself is the backing, without delays; to be measured, memory with a
// copy of it: what a cold run drops from the caches must not come from the disk below.
Result<> Rig::start_emulated(const DiskSetup& disk, const ImageDisk& image, bool to_build) {
  const std::string file = paths().image(disk);
  const std::string name = emulated_name(paths(), disk);
  const unsigned loop = own_loop_number(file);
  if (!to_build) {
    BLKSWEEP_CHECK(check_memory(file, disk.name));
  }
  BLKSWEEP_CHECK(borrowing_.add({.kind = LoanKind::disk,
                                 .key = key(),
                                 .what = fmt::format("disk {} (emulated)", disk.name),
                                 .path = name,
                                 .text = std::to_string(loop)}));
  const DiskWish wish{.name = name,
                      .model = to_build ? no_model() : *image.model,
                      .speedup = to_build ? 1 : image.speedup,
                      .size = image.size,
                      .backing = to_build ? file : kMemoryBacking,
                      .filesystem = image.filesystem,
                      .mount = paths().mount(disk),
                      .image = to_build ? "" : file,
                      .loop = loop};
  BLKSWEEP_TRY([[maybe_unused]] const DiskState state, start_disk(Registry(), wish));
  return {};
}

Result<> Rig::build_plain(const Site& site) {
  if (std::holds_alternative<FolderData>(site.data->what)) {
    return {};
  }
  const std::string folder = paths().data_folder(site);
  const std::vector<std::string> parts{settings_text(*site.data, *settings_)};
  const Stamp stamp(paths().stamp(*site.data));
  const StampFound found = stamp.look(parts);
  std::error_code ignored;
  const bool there = fs::exists(folder, ignored);
  if (found.state == StampState::whole && there) {
    return {};
  }
  if (found.state == StampState::absent && there) {
    return fail(fmt::format(
        "{} is there, and no spec has made it: move it away, or name another workdir", folder));
  }
  BLKSWEEP_CHECK(make_folder_of_own(paths().plain()));
  BLKSWEEP_CHECK(stamp.begin());
  BLKSWEEP_CHECK(remove_tree(folder));
  BLKSWEEP_CHECK(build_data(site, place()));
  BLKSWEEP_CHECK(keep_contents(paths().contents(site), folder));
  return stamp.keep(parts);
}

}  // namespace blksweep
