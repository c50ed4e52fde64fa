#include "os/file/written_ranges.h"

#include <fcntl.h>
#include <linux/fsmap.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>

#include "os/block/blockdev.h"
#include "os/block/device_layers.h"
#include "os/file/file.h"

namespace blksweep {
namespace {

constexpr std::uint32_t kMapRecords = 4096;

WrittenRanges of_file(const std::string& path, ByteRange part, const std::string& by) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  // A filesystem without holes says that all is data: true of it.
  return fd ? WrittenRanges{by + path, data_of_file(fd, part)} : WrittenRanges{};
}

WrittenRanges of_backing(const BlockDevice& device) {
  const std::string sys = "/sys/block/" + device.disk + "/loop/";
  const std::string file = first_line(sys + "backing_file");
  const std::string on = mount_of_backing(file).filesystem;
  if (file.empty() || on.empty() || on.starts_with("fuse")) {  // empty: a block device has no holes
    return {};
  }
  const std::uint64_t begin = first_number(sys + "offset") + device.partition_start;
  return of_file(file, {begin, begin + device.size}, "the holes of the backing file ");
}

// The part of what FS_IOC_GETFSMAP answers that says which space is free.
class FreeSpace {
 public:
  explicit FreeSpace(dev_t device)
      : device_((minor(device) & 0xFFU) | (major(device) << 8U) |
                ((minor(device) & ~0xFFU) << 12U)),
        memory_(std::make_unique<std::byte[]>(fsmap_sizeof(kMapRecords))) {
    std::memset(memory_.get(), 0, fsmap_sizeof(kMapRecords));
    head()->fmh_count = kMapRecords;
    fsmap& high = head()->fmh_keys[1];
    high.fmr_device = high.fmr_flags = UINT32_MAX;
    high.fmr_physical = high.fmr_owner = high.fmr_offset = UINT64_MAX;
  }

  // Ascending; false where the filesystem does not say.
  bool read(const Fd& fd, std::vector<ByteRange>& free) {
    for (;;) {
      if (::ioctl(fd.get(), FS_IOC_GETFSMAP, head()) != 0) {
        return false;
      }
      const std::uint32_t n = head()->fmh_entries;
      for (std::uint32_t i = 0; i < n; ++i) {
        add(head()->fmh_recs[i], free);
      }
      if (n == 0 || (head()->fmh_recs[n - 1].fmr_flags & FMR_OF_LAST) != 0) {
        return true;
      }
      fsmap_advance(head());
    }
  }

 private:
  fsmap_head* head() { return reinterpret_cast<fsmap_head*>(memory_.get()); }
  void add(const fsmap& r, std::vector<ByteRange>& free) const {
    const bool is_free = (r.fmr_flags & FMR_OF_SPECIAL_OWNER) != 0 && r.fmr_owner == FMR_OWN_FREE;
    if (is_free && r.fmr_device == device_) {
      free.push_back({r.fmr_physical, r.fmr_physical + r.fmr_length});
    }
  }

  std::uint32_t device_;
  std::unique_ptr<std::byte[]> memory_;
};

std::vector<ByteRange> all_but(std::vector<ByteRange> free, std::uint64_t size) {
  std::ranges::sort(free, {}, &ByteRange::begin);
  std::vector<ByteRange> out;
  std::uint64_t at = 0;
  for (const ByteRange& f : free) {
    if (f.begin > at) {
      out.push_back({at, std::min(f.begin, size)});
    }
    at = std::max(at, f.end);
  }
  if (at < size) {
    out.push_back({at, size});
  }
  return out;
}

WrittenRanges of_filesystem(const BlockDevice& device) {
  if (first_line("/sys/block/" + device.disk + "/queue/rotational") == "1") {
    return {};
  }
  for (const MountFacts& m : mounts()) {
    if (!is_mount_of(m, device.dev, device.node)) {
      continue;
    }
    const Fd fd(::open(m.mount_point.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY));
    std::vector<ByteRange> free;
    if (fd && FreeSpace(device.dev).read(fd, free)) {
      return {"the free space of " + m.filesystem + " on " + m.mount_point,
              all_but(std::move(free), device.size)};
    }
  }
  return {};
}

}  // namespace

std::uint64_t WrittenRanges::bytes() const {
  std::uint64_t sum = 0;
  for (const ByteRange& r : ranges) {
    sum += r.bytes();
  }
  return sum;
}

std::vector<ByteRange> data_of_file(const Fd& fd, ByteRange part) {
  std::vector<ByteRange> out;
  std::uint64_t at = part.begin;
  while (at < part.end) {
    const off_t data = ::lseek(fd.get(), static_cast<off_t>(at), SEEK_DATA);
    if (data < 0 || static_cast<std::uint64_t>(data) >= part.end) {
      break;
    }
    const off_t hole = ::lseek(fd.get(), data, SEEK_HOLE);
    const std::uint64_t end =
        hole < 0 ? part.end : std::min(static_cast<std::uint64_t>(hole), part.end);
    out.push_back({static_cast<std::uint64_t>(data) - part.begin, end - part.begin});
    at = std::max(end, static_cast<std::uint64_t>(data) + 1);
  }
  return out;
}

WrittenRanges written_ranges(const std::string& path, std::uint64_t size) {
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) {
    return {};
  }
  if (S_ISREG(st.st_mode)) {
    return of_file(path, {0, size}, "the holes of ");
  }
  const Result<BlockDevice> device = block_device_of(path);
  if (!device) {
    return {};
  }
  if (device->disk.starts_with("loop")) {
    return of_backing(*device);
  }
  return of_filesystem(*device);
}

}  // namespace blksweep
