#include "dataset/placement.h"

#include <fmt/format.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>

#include "os/block/blockdev.h"

namespace blksweep {
namespace {

// struct xfs_fsop_geom_v1 and XFS_IOC_FSGEOMETRY_V1 (fs/xfs/libxfs/xfs_fs.h), without xfsprogs.
struct XfsGeometry {
  std::uint32_t before[8];
  std::uint64_t datablocks, rtblocks;
  std::uint64_t behind[8];
};
static_assert(sizeof(XfsGeometry) == 112);

bool has_realtime_section(int fd) {
  XfsGeometry g{};
  return ::ioctl(fd, _IOR('X', 100, XfsGeometry), &g) == 0 && g.rtblocks != 0;
}

struct FlagPair {
  std::uint32_t fiemap, ours;
};
constexpr std::array kFlagPairs{
    FlagPair{FIEMAP_EXTENT_UNKNOWN, kExtentNoAddress},
    FlagPair{FIEMAP_EXTENT_DELALLOC, kExtentNoAddress},
    FlagPair{FIEMAP_EXTENT_ENCODED, kExtentEncoded},
    FlagPair{FIEMAP_EXTENT_DATA_ENCRYPTED, kExtentEncoded},
    FlagPair{FIEMAP_EXTENT_NOT_ALIGNED, kExtentUnaligned},
    FlagPair{FIEMAP_EXTENT_DATA_INLINE, kExtentInline | kExtentUnaligned},
    FlagPair{FIEMAP_EXTENT_DATA_TAIL, kExtentInline | kExtentUnaligned},
    FlagPair{FIEMAP_EXTENT_UNWRITTEN, kExtentUnwritten},
    FlagPair{FIEMAP_EXTENT_SHARED, kExtentShared},
};

std::uint32_t our_flags(std::uint32_t fiemap) {
  constexpr std::uint32_t kPlain = FIEMAP_EXTENT_LAST | FIEMAP_EXTENT_MERGED;
  if ((fiemap & ~kPlain) == 0) {
    return 0;
  }
  std::uint32_t out = 0;
  for (const FlagPair& p : kFlagPairs) {
    out |= (fiemap & p.fiemap) != 0 ? p.ours : 0;
  }
  return out;
}

std::string filesystem_name(const std::string& root, MountFacts& mount) {
  if (auto found = mount_of(root)) {
    mount = *std::move(found);
  }
  return mount.filesystem;
}

// With data=journal the newest bytes of a file may be in the journal only.
bool journals_data(const MountFacts& mount) {
  return mount.options.find("data=journal") != std::string::npos;
}

// By the filesystem, or by a sandbox's filter; anything else says that the file itself is bad.
bool refuses_fiemap(int err) {
  return err == EOPNOTSUPP || err == ENOTTY || err == EINVAL || err == EPERM || err == EACCES ||
         err == ENOSYS;
}

}  // namespace

Result<Placement> Placement::find(const std::string& root, int root_fd, CatalogParts& parts,
                                  ScanReport& report) {
  Placement p;
  struct statfs fs {};
  struct stat st {};
  // Not known is not "without addresses": files would seem to have moved.
  if (::fstat(root_fd, &st) != 0 || ::fstatfs(root_fd, &fs) != 0) {
    return sys_error(errno, "ask for the filesystem of " + root);
  }
  parts.device = p.device_ = st.st_dev;
  if (std::has_single_bit(static_cast<std::uint64_t>(fs.f_bsize))) {
    parts.block_bytes = static_cast<std::uint32_t>(fs.f_bsize);
  }
  p.block_mask_ = std::uint64_t{parts.block_bytes} - 1;
  MountFacts mount;
  report.filesystem = filesystem_name(root, mount);
  const auto device = block_device_of(root);
  if (!device) {
    report.warnings.push_back(device.error().message() + "; LBA order falls back to inode order");
    return p;
  }
  parts.device_node = device->node;
  parts.partition_start = device->partition_start;
  const auto type = static_cast<std::uint64_t>(fs.f_type);
  if (type == BTRFS_SUPER_MAGIC) {
    if (auto chunks = BtrfsChunks::read(root_fd)) {
      p.chunks_ = *std::move(chunks);
      p.addresses_ = true;
    } else {
      report.warnings.push_back(
          chunks.error().message() +
          ": device addresses are not known; LBA order falls back to inode order");
    }
    return p;
  }
  const bool plain = type == EXT4_SUPER_MAGIC || type == XFS_SUPER_MAGIC;
  p.addresses_ = plain;
  p.realtime_ = type == XFS_SUPER_MAGIC && has_realtime_section(root_fd);
  parts.device_readable = plain && !journals_data(mount);
  if (!plain) {
    report.warnings.push_back(fmt::format(
        "{}: addresses on {} are not known to be bytes of {}; LBA order falls back to inode order",
        root, report.filesystem, device->node));
  } else if (!parts.device_readable) {
    report.warnings.emplace_back(
        "mounted with data=journal: the device may hold old bytes, so "
        "merge=device is read through files");
  }
  return p;
}

bool Placement::on_realtime_device(int fd) const {
  fsxattr attributes{};
  return realtime_ && ::ioctl(fd, FS_IOC_FSGETXATTR, &attributes) == 0 &&
         (attributes.fsx_xflags & FS_XFLAG_REALTIME) != 0;
}

int Placement::append_extents(int fd, std::uint32_t file, std::uint64_t size, bool encrypted) {
  if (size == 0) {
    return 0;
  }
  if (const int err = reader_.read(fd); err != 0) {
    if (!refuses_fiemap(err)) {
      return err;
    }
    refusal_ = err;
    ++refused_;
    append_unknown(file, size);
    return 0;
  }
  std::uint32_t extra = 0;
  if (encrypted) {
    extra |= kExtentEncoded;
  }
  if (!addresses_ || on_realtime_device(fd)) {
    extra |= kExtentNoAddress;
  }
  for (const fiemap_extent& e : reader_.extents()) {
    if (e.fe_logical < size && e.fe_length > 0) {  // fallocate may reserve blocks past the end
      append(e, file, extra);
    }
  }
  return 0;
}

bool Placement::elsewhere(const struct statx& st) const {
  return makedev(st.stx_dev_major, st.stx_dev_minor) != device_;
}

int Placement::append_of(int fd, std::uint32_t file, const struct statx& st) {
  if (elsewhere(st)) {
    append_unknown(file, st.stx_size);
    return 0;
  }
  return append_extents(fd, file, st.stx_size, (st.stx_attributes & STATX_ATTR_ENCRYPTED) != 0);
}

void Placement::report_refusals(ScanReport& report) const {
  if (refused_ > 0 && addresses_) {
    report.warnings.push_back(
        fmt::format("FIEMAP is refused for {} files ({}): LBA order falls back to inode order",
                    format_count(refused_), std::strerror(refusal_)));
  }
}

void Placement::append(const fiemap_extent& e, std::uint32_t file, std::uint32_t extra_flags) {
  ExtentRecord r{e.fe_logical, e.fe_physical, e.fe_length, our_flags(e.fe_flags) | extra_flags,
                 file};
  if ((r.flags & kExtentNoAddress) != 0) {
    r.device_offset = 0;
  } else if (((r.device_offset | r.file_offset) & block_mask_) != 0) {
    r.flags |= kExtentUnaligned;
  }
  if (chunks_ && r.has_address()) {
    append_translated(r);
  } else {
    extents_.push_back(r);
  }
}

// FIEMAP joins extents whose logical addresses touch, even across chunks: cut there.
void Placement::append_translated(ExtentRecord e) {
  // A compressed extent's length counts file bytes; the device holds fewer, so it cannot be cut.
  const bool whole = (e.flags & kExtentEncoded) != 0;
  while (e.length > 0) {
    const auto place = chunks_->find(e.device_offset);
    ExtentRecord piece = e;
    if (!place) {
      piece.flags |= kExtentNoAddress;
      piece.device_offset = 0;
      extents_.push_back(piece);
      return;
    }
    piece.length = whole ? e.length : std::min(e.length, place->contiguous);
    piece.device_offset = place->physical;
    extents_.push_back(piece);
    e.file_offset += piece.length;
    e.device_offset += piece.length;
    e.length -= piece.length;
  }
}

void Placement::append_unknown(std::uint32_t file, std::uint64_t size) {
  if (size > 0) {
    extents_.push_back({0, 0, size, kExtentNoAddress, file});
  }
}

}  // namespace blksweep
