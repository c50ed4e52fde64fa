#include "rig/needs.h"

#include <fmt/format.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <filesystem>

#include "rig/stamp.h"
#include "rig/workdir.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

Bytes space_of(const DataSetup& data, const RigSettings& rig) {
  if (const auto* make = std::get_if<MakeSettings>(&data.what)) {
    return space_needed(*make);
  }
  const auto* pack = std::get_if<PackOf>(&data.what);
  const DataSetup* source = pack != nullptr ? rig.data_set(pack->source) : nullptr;
  return source != nullptr ? space_of(*source, rig) : Bytes{0};
}

// The filesystem's own tables and journal: a twentieth of it, at most.
Bytes space_of(const DiskSetup& disk, const ImageDisk& image, const RigSettings& rig) {
  std::uint64_t sum = image.size.n / 20;
  for (const Site& site : sites(rig)) {
    sum += site.disk == &disk ? space_of(*site.data, rig).n : 0;
  }
  return {std::min(sum, image.size.n)};
}

bool is_whole(const std::string& stamp, const std::string& made,
              const std::vector<std::string>& parts) {
  std::error_code ignored;
  return fs::exists(made, ignored) && Stamp(stamp).look(parts).state == StampState::whole;
}

Bytes free_in(fs::path folder) {
  struct statvfs v {};
  while (::statvfs(folder.c_str(), &v) != 0 && folder.has_relative_path()) {
    folder = folder.parent_path();
  }
  return {v.f_bavail * v.f_frsize};
}

}  // namespace

RigNeeds needs_of(const RigSettings& rig) {
  RigNeeds needs;
  const auto paths = WorkPaths::of(rig.workdir);
  if (rig.workdir.empty() || !paths) {
    return needs;
  }
  needs.free = free_in(paths->root);
  const DiskSetup* begun = nullptr;
  for (const Site& site : sites(rig)) {
    const auto* image = site.disk != nullptr ? std::get_if<ImageDisk>(&site.disk->what) : nullptr;
    if (std::holds_alternative<FolderData>(site.data->what)) {
      continue;
    }
    if (image != nullptr && image->model) {
      needs.memory.n = std::max(needs.memory.n, space_of(*site.disk, *image, rig).n);
    }
    const bool whole = image != nullptr
                           ? is_whole(paths->stamp(*site.disk), paths->image(*site.disk),
                                      parts_of(rig, *site.disk))
                           : is_whole(paths->stamp(*site.data), paths->data_folder(site),
                                      {settings_text(*site.data, rig)});
    if (whole) {
      continue;
    }
    if (image != nullptr && begun != site.disk) {
      begun = site.disk;
      needs.to_make.push_back(fmt::format("disk {} ({}, {})", site.disk->name,
                                          format_bytes(image->size), image->filesystem));
      needs.space.n += space_of(*site.disk, *image, rig).n;
    }
    needs.space.n += image == nullptr ? space_of(*site.data, rig).n : 0;
    needs.to_make.push_back(site.label());
  }
  return needs;
}

}  // namespace blksweep
