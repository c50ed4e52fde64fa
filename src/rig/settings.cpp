#include "rig/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "disk/filesystem.h"
#include "disk/registry.h"

namespace blksweep {
namespace {

constexpr std::size_t kLongestName = 20;  // with a hash it becomes the name of an emulated disk
constexpr std::string_view kPlain = "data";

bool is_image(const DiskSetup& d) { return std::holds_alternative<ImageDisk>(d.what); }
bool is_folder(const DataSetup& d) { return std::holds_alternative<FolderData>(d.what); }

template <class T>
const T* find(const std::vector<T>& all, const std::string& name) {
  const auto at = std::ranges::find(all, name, &T::name);
  return at == all.end() ? nullptr : &*at;
}

bool is_on(const DataSetup& data, const DiskSetup& disk) {
  if (data.on.empty()) {
    return is_image(disk) && !is_folder(data);
  }
  return std::ranges::find(data.on, disk.name) != data.on.end();
}

bool has_disk(const RigSettings& rig, const DataSetup& data) {
  return std::ranges::any_of(rig.disks, [&](const DiskSetup& d) { return is_on(data, d); });
}

Result<> check_name(const std::string& name) {
  if (!check_disk_name(name) || name.size() > kLongestName) {
    return usage_error(fmt::format(
        "'{}': a name has up to {} letters, digits, '-' and '_', the first a letter or digit", name,
        kLongestName));
  }
  return {};
}

template <class T>
Result<> check_names(const std::vector<T>& all, const char* what) {
  std::set<std::string> seen;
  for (const T& one : all) {
    if (const Result<> named = check_name(one.name); !named) {
      return usage_error(fmt::format("{} {}", what, named.error().message()));
    }
    if (!seen.insert(one.name).second) {
      return usage_error(fmt::format("{} {}: two have that name", what, one.name));
    }
  }
  return {};
}

Result<> check_disks(const RigSettings& rig) {
  for (const DiskSetup& d : rig.disks) {
    if (d.name == kPlain) {
      return usage_error("disk data: that is where data sets without a disk are: another name");
    }
    const auto* image = std::get_if<ImageDisk>(&d.what);
    if (image != nullptr && !is_known_filesystem(image->filesystem)) {
      return usage_error(
          fmt::format("disk {}: fs '{}': give ext4, xfs or btrfs", d.name, image->filesystem));
    }
    if (image != nullptr && (image->size.n < (1U << 20) || image->size.n % kPageBytes != 0)) {
      return usage_error(
          fmt::format("disk {}: size: 1MiB or more, a multiple of {}", d.name, kPageBytes));
    }
    if (std::ranges::none_of(rig.data, [&](const DataSetup& s) { return is_on(s, d); })) {
      return usage_error(fmt::format("disk {}: no data set is on it{}", d.name,
                                     is_image(d) ? "" : ": [[data]] with folder and on"));
    }
  }
  return {};
}

Result<> check_on(const RigSettings& rig, const DataSetup& data) {
  for (const std::string& name : data.on) {
    const DiskSetup* disk = rig.disk(name);
    if (disk == nullptr) {
      return usage_error(fmt::format("data {}: on: there is no disk '{}'", data.name, name));
    }
    if (is_image(*disk) && is_folder(data)) {
      return usage_error(fmt::format(
          "data {}: an image ({}) holds only what the spec makes: make or pack, not folder",
          data.name, name));
    }
    if (!is_image(*disk) && !is_folder(data)) {
      return usage_error(
          fmt::format("data {}: {} is a device that exists, which is only read: name a folder that "
                      "is on it; to make data there, let workdir be on it",
                      data.name, name));
    }
  }
  return {};
}

// It is packed from the same disk, and after its source.
Result<> check_pack(const RigSettings& rig, const DataSetup& data, const PackOf& pack) {
  const DataSetup* source = rig.data_set(pack.source);
  if (source == nullptr || source >= &data) {
    return usage_error(
        fmt::format("data {}: pack: of = '{}' is no data set above it", data.name, pack.source));
  }
  if (is_folder(*source)) {
    return {};
  }
  for (const DiskSetup& d : rig.disks) {
    if (is_on(data, d) && !is_on(*source, d)) {
      return usage_error(fmt::format("data {}: {} is not on {}, where it is to be packed",
                                     data.name, source->name, d.name));
    }
  }
  return {};
}

}  // namespace

const DiskSetup* RigSettings::disk(const std::string& name) const { return find(disks, name); }
const DataSetup* RigSettings::data_set(const std::string& name) const { return find(data, name); }

std::string Site::label() const {
  return disk != nullptr ? fmt::format("{}, {}", disk->name, data->name) : data->name;
}

std::vector<Site> sites(const RigSettings& rig) {
  std::vector<Site> all;
  for (const DiskSetup& disk : rig.disks) {
    for (const DataSetup& data : rig.data) {
      if (is_on(data, disk)) {
        all.push_back({&disk, &data});
      }
    }
  }
  for (const DataSetup& data : rig.data) {
    if (!has_disk(rig, data)) {
      all.push_back({nullptr, &data});
    }
  }
  return all;
}

Result<> check_rig(const RigSettings& rig) {
  BLKSWEEP_CHECK(check_names(rig.disks, "disk"));
  BLKSWEEP_CHECK(check_names(rig.data, "data"));
  for (const DataSetup& data : rig.data) {
    BLKSWEEP_CHECK(check_on(rig, data));
    if (const auto* pack = std::get_if<PackOf>(&data.what)) {
      BLKSWEEP_CHECK(check_pack(rig, data, *pack));
    }
  }
  return check_disks(rig);
}

}  // namespace blksweep
