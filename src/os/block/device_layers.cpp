#include "os/block/device_layers.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "base/text.h"
#include "os/block/blockdev.h"
#include "os/file/file.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostLayers = 16;

// "virtio_blk": of the driver that serves the disk.
std::string driver_of(const fs::path& sys) {
  std::error_code ec;
  return fs::read_symlink(sys / "device/driver", ec).filename().string();
}

bool is_virtual(const std::string& driver, const std::string& model) {
  return driver == "virtio_blk" || driver == "vbd" || model.starts_with("QEMU") ||
         model.starts_with("VBOX") || model.starts_with("Virtual") || model.starts_with("VMware");
}

void add_hardware(DiskFacts& f, const fs::path& sys) {
  const std::string driver = driver_of(sys);
  f.model = trimmed(first_line(sys / "device/model"));
  if (is_virtual(driver, f.model)) {
    f.kind = DiskKind::virtual_disk;
    f.model = f.model.empty() ? driver : f.model;
  }
}

}  // namespace

MountFacts mount_by_text(const std::string& file) {
  MountFacts best;
  for (const MountFacts& m : mounts()) {
    if (is_under(file, m.mount_point) && m.mount_point.size() >= best.mount_point.size()) {
      best = m;
    }
  }
  return best;
}

MountFacts mount_of_backing(const std::string& file) {
  const MountFacts mount = mount_by_text(file);
  struct stat st {};
  const bool node = !mount.filesystem.starts_with("fuse") && ::stat(file.c_str(), &st) == 0 &&
                    S_ISBLK(st.st_mode);
  return node ? MountFacts{} : mount;
}

std::vector<std::string> disks_beneath(const std::string& disk, const std::string& sys) {
  const fs::path folder = fs::path(sys) / "block" / disk;
  std::vector<std::string> disks;
  std::error_code ec;
  for (const auto& slave : fs::directory_iterator(folder / "slaves", ec)) {
    const fs::path real = fs::canonical(slave.path(), ec);
    const bool partition = fs::exists(real / "partition", ec);
    disks.push_back((partition ? real.parent_path() : real).filename().string());
  }
  std::ranges::sort(disks);
  const std::string file = first_line(folder / "loop/backing_file");
  if (!file.empty() && !mount_by_text(file).filesystem.starts_with("fuse")) {
    if (const auto device = block_device_of(file)) {
      disks.push_back(device->disk);
    }
  }
  return disks;
}

DiskFacts disk_facts(const std::string& disk) {
  const fs::path sys = "/sys/block/" + disk;
  std::error_code ec;
  DiskFacts f;
  f.disk = disk;
  f.backing_file = first_line(sys / "loop/backing_file");
  if (!f.backing_file.empty()) {
    f.kind = DiskKind::loop;
    f.backing_direct = first_line(sys / "loop/dio") == "1";
  } else if (fs::exists(sys / "dm", ec)) {
    f.kind = DiskKind::mapper;
    f.model = "device mapper " + first_line(sys / "dm/name");
  } else if (fs::exists(sys / "md", ec)) {
    f.kind = DiskKind::raid;
    f.model = "md " + first_line(sys / "md/level");
  } else if (disk.starts_with("zram") || disk.starts_with("ram") || disk.starts_with("nullb")) {
    f.kind = DiskKind::memory;
  } else {
    add_hardware(f, sys);
  }
  return f;
}

std::vector<DiskFacts> device_layers(const std::string& disk) {
  std::vector<DiskFacts> layers;
  std::vector<std::string> todo{disk};
  for (std::size_t i = 0; i < todo.size() && layers.size() < kMostLayers; ++i) {
    const std::string name = todo[i];
    if (std::ranges::find(layers, name, &DiskFacts::disk) == layers.end()) {
      layers.push_back(disk_facts(name));
      std::ranges::copy(disks_beneath(name), std::back_inserter(todo));
    }
  }
  return layers;
}

}  // namespace blksweep
