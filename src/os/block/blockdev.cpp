#include "os/block/blockdev.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/units.h"
#include "os/file/file.h"
#include "os/mount/foreign_mounts.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

// /proc/self/mountinfo writes space, tab, newline and backslash as \040 etc. (proc(5)).
std::string unescape(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned code = 0;
    const char* at = text.data() + i + 1;
    if (text[i] == '\\' && i + 3 < text.size() &&
        std::from_chars(at, at + 3, code, 8).ptr == at + 3) {
      out.push_back(static_cast<char>(code));
      i += 3;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

// "36 35 98:0 /root /mnt rw,noatime master:1 - ext4 /dev/sda1 rw,errors=continue"
MountFacts parse_mountinfo(const std::string& line) {
  MountFacts m;
  std::istringstream in(line);
  std::string parent, word, super;
  unsigned maj = 0, min = 0;
  char colon = 0;
  in >> m.id >> parent >> maj >> colon >> min >> m.root >> m.mount_point >> m.options;
  while (in >> word && word != "-") {
  }
  in >> m.filesystem >> m.source >> super;
  m.dev = makedev(maj, min);
  m.root = unescape(m.root);
  m.mount_point = unescape(m.mount_point);
  m.source = unescape(m.source);
  m.options += super.empty() ? "" : ";" + super;
  return m;
}

// btrfs and overlay give files an anonymous st_dev; the mount's source names the real device.
Result<dev_t> device_behind(const std::string& path) {
  BLKSWEEP_CHECK(refuse_foreign_mounts(path));
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) {
    return sys_error(errno, "stat " + path);
  }
  if (S_ISBLK(st.st_mode)) {
    return st.st_rdev;
  }
  if (major(st.st_dev) != 0) {
    return st.st_dev;
  }
  BLKSWEEP_TRY(const MountFacts mount, mount_of(path));
  const bool says_anything = mount.filesystem.starts_with("fuse");
  if (!says_anything && ::stat(mount.source.c_str(), &st) == 0 && S_ISBLK(st.st_mode)) {
    return st.st_rdev;
  }
  return unsupported(
      fmt::format("{}: {} has no block device behind it: use a path on ext4, xfs or btrfs", path,
                  mount.filesystem));
}

Result<dev_t> parse_dev(const fs::path& path) {
  unsigned maj = 0;
  unsigned min = 0;
  char colon = 0;
  std::istringstream in(first_line(path));
  if (!(in >> maj >> colon >> min)) {
    return fail("read " + path.string() + ": not a device number");
  }
  return makedev(maj, min);
}

}  // namespace

Result<BlockDevice> block_device_of_dev(dev_t dev) {
  const fs::path link = fmt::format("/sys/dev/block/{}:{}", major(dev), minor(dev));
  std::error_code ec;
  const fs::path sys = fs::canonical(link, ec);
  if (ec && ec != std::errc::no_such_file_or_directory) {
    return sys_error(ec.value(), "resolve " + link.string());
  }
  if (ec) {
    const std::string device = fmt::format("device {}:{}", major(dev), minor(dev));
    return unsupported(fs::exists(link.parent_path(), ec)
                           ? device + " is not a block device"
                           : device + ": no /sys/dev/block to find its disk in: mount sysfs");
  }
  const bool partition = fs::exists(sys / "partition", ec);
  const fs::path disk = partition ? sys.parent_path() : sys;
  BlockDevice d;
  d.dev = dev;
  d.node = "/dev/" + sys.filename().string();
  std::ranges::replace(d.node, '!', '/');  // sysfs writes cciss!c0d0 for /dev/cciss/c0d0
  d.disk = disk.filename().string();
  BLKSWEEP_TRY(d.whole_disk, parse_dev(disk / "dev"));
  d.partition_start = partition ? first_number(sys / "start") * kSectorBytes : 0;
  d.size = first_number(sys / "size") * kSectorBytes;
  d.logical_block = static_cast<std::uint32_t>(
      std::max<std::uint64_t>(512, first_number(disk / "queue/logical_block_size")));
  return d;
}

Result<BlockDevice> block_device_of(const std::string& path) {
  BLKSWEEP_TRY(const dev_t dev, device_behind(path));
  return block_device_of_dev(dev);
}

Result<BlockDevice> block_device_of_name(const std::string& name) {
  const std::string file = "/sys/class/block/" + name + "/dev";
  std::istringstream in(first_line(file));
  unsigned maj = 0;
  unsigned min = 0;
  char colon = 0;
  if (!(in >> maj >> colon >> min)) {
    return fail("read " + file + ": not a device number");
  }
  return block_device_of_dev(makedev(maj, min));
}

bool is_under(const std::string& path, const std::string& mount_point) {
  return mount_point == "/" || path == mount_point || path.starts_with(mount_point + "/");
}

Result<std::vector<MountFacts>> read_mounts(const std::string& mountinfo) {
  BLKSWEEP_TRY(const std::string text, kernel_text(mountinfo));
  std::istringstream in(text);
  std::vector<MountFacts> all;
  for (std::string line; std::getline(in, line);) {
    all.push_back(parse_mountinfo(line));
  }
  return all;
}

std::vector<MountFacts> mounts(const std::string& mountinfo) {
  return read_mounts(mountinfo).value_or(std::vector<MountFacts>());
}

bool is_mount_of(const MountFacts& mount, dev_t dev, const std::string& node) {
  return mount.dev == dev || (mount.filesystem == "btrfs" && mount.source == node);
}

Result<MountFacts> mount_of(const std::string& path) {
  BLKSWEEP_CHECK(refuse_foreign_mounts(path));
  std::error_code ec;
  const std::string real = fs::canonical(path, ec).string();
  if (ec) {
    return sys_error(ec.value(), "resolve " + path);
  }
  MountFacts best;
  BLKSWEEP_TRY(std::vector<MountFacts> all, read_mounts());
  for (MountFacts& m : all) {
    // Later ones cover earlier ones that are mounted on the same point.
    if (is_under(real, m.mount_point) && m.mount_point.size() >= best.mount_point.size()) {
      best = std::move(m);
    }
  }
  if (best.mount_point.empty()) {
    return fail(path + ": no mount found in /proc/self/mountinfo");
  }
  return best;
}

Result<DiskStat> disk_stat(const std::string& disk) {
  const std::string path = "/sys/block/" + disk + "/stat";
  std::ifstream in(path);
  DiskStat s;
  std::uint64_t other = 0;              // times and merged writes
  constexpr int kFieldsToDiscards = 4;  // times, and what is in flight
  if (!(in >> s.reads >> s.read_merges >> s.read_sectors >> s.read_ms >> s.writes >> other >>
        s.write_sectors)) {
    return fail("read " + path + ": no block statistics");
  }
  for (int i = 0; i < kFieldsToDiscards; ++i) {
    in >> other;
  }
  if (!(in >> s.discards)) {
    s.discards = 0;
  }
  return s;
}

Result<DiskStat> counting_stat(const std::string& disk) {
  if (first_line("/sys/block/" + disk + "/queue/iostats") == "0") {
    return fail(
        fmt::format("queue/iostats of {} is 0, so the kernel counts nothing of it (echo 1 > "
                    "/sys/block/{}/queue/iostats)",
                    disk, disk));
  }
  return disk_stat(disk);
}

std::vector<std::pair<std::string, std::string>> queue_settings(const std::string& disk) {
  std::vector<std::pair<std::string, std::string>> out;
  const std::string queue = "/sys/block/" + disk + "/queue/";
  for (const std::string folder : {"", "iosched/"}) {
    std::error_code ec;
    for (const auto& entry : fs::directory_iterator(queue + folder, ec)) {
      if (entry.is_regular_file(ec)) {
        out.emplace_back(folder + entry.path().filename().string(), first_line(entry.path()));
      }
    }
  }
  std::ranges::sort(out);
  return out;
}

std::string changed_queue(const std::vector<std::pair<std::string, std::string>>& then,
                          const std::vector<std::pair<std::string, std::string>>& now) {
  std::string text;
  for (const auto& [name, value] : then) {
    const auto found = std::ranges::find(now, name, [](const auto& s) { return s.first; });
    const std::string is = found == now.end() ? "gone" : found->second;
    if (is != value) {
      text += fmt::format("{}{} {}, now {}", text.empty() ? "" : "; ", name, value, is);
    }
  }
  return text;
}

}  // namespace blksweep
