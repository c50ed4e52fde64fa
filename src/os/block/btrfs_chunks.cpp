#include "os/block/btrfs_chunks.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/btrfs.h>
#include <linux/btrfs_tree.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <span>

#include "base/fd.h"
#include "os/file/file.h"

namespace blksweep {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{64} * 1024;
constexpr std::uint64_t kPlainProfiles = BTRFS_BLOCK_GROUP_TYPE_MASK | BTRFS_BLOCK_GROUP_DUP;

Result<> check_one_device(int fd) {
  btrfs_ioctl_fs_info_args info{};
  if (::ioctl(fd, BTRFS_IOC_FS_INFO, &info) != 0) {
    return sys_error(errno, "ask btrfs for its devices");
  }
  if (info.num_devices != 1) {
    return unsupported(fmt::format("btrfs on {} devices", info.num_devices));
  }
  return {};
}

Result<BtrfsChunk> decode(std::uint64_t logical, std::span<const std::byte> item) {
  btrfs_chunk chunk{};  // ends in its first stripe
  if (item.size() < sizeof chunk) {
    return unsupported("a btrfs chunk item is too short");
  }
  std::memcpy(&chunk, item.data(), sizeof chunk);
  if ((chunk.type & BTRFS_BLOCK_GROUP_PROFILE_MASK & ~kPlainProfiles) != 0) {
    return unsupported("a btrfs profile other than single and DUP");
  }
  return BtrfsChunk{logical, chunk.length, chunk.stripe.offset};
}

// One round of the search: appends what fits the buffer; how many items there were.
Result<std::size_t> search(int fd, std::uint64_t from, std::vector<BtrfsChunk>& out) {
  std::vector<std::uint64_t> memory((sizeof(btrfs_ioctl_search_args_v2) + kBufferBytes) / 8);
  auto* args = reinterpret_cast<btrfs_ioctl_search_args_v2*>(memory.data());
  args->key.tree_id = BTRFS_CHUNK_TREE_OBJECTID;
  args->key.min_objectid = args->key.max_objectid = BTRFS_FIRST_CHUNK_TREE_OBJECTID;
  args->key.min_type = args->key.max_type = BTRFS_CHUNK_ITEM_KEY;
  args->key.min_offset = from;
  args->key.max_offset = ~std::uint64_t{0};
  args->key.max_transid = ~std::uint64_t{0};
  args->key.nr_items = ~std::uint32_t{0};
  args->buf_size = kBufferBytes;
  if (::ioctl(fd, BTRFS_IOC_TREE_SEARCH_V2, args) != 0) {
    return sys_error(errno, "read the btrfs chunk tree (needs root)");
  }
  const auto* at = reinterpret_cast<const std::byte*>(args + 1);
  for (std::uint32_t i = 0; i < args->key.nr_items; ++i) {
    btrfs_ioctl_search_header header{};
    std::memcpy(&header, at, sizeof header);
    BLKSWEEP_TRY(const BtrfsChunk chunk, decode(header.offset, {at + sizeof header, header.len}));
    out.push_back(chunk);
    at += sizeof header + header.len;
  }
  return args->key.nr_items;
}

}  // namespace

Result<BtrfsChunks> BtrfsChunks::read(int fd) {
  BLKSWEEP_CHECK(check_one_device(fd));
  std::vector<BtrfsChunk> chunks;
  for (std::uint64_t from = 0;;) {
    BLKSWEEP_TRY(const std::size_t found, search(fd, from, chunks));
    if (found == 0) {
      break;
    }
    from = chunks.back().logical + 1;
  }
  std::ranges::sort(chunks, {}, &BtrfsChunk::logical);
  return BtrfsChunks(std::move(chunks));
}

std::optional<BtrfsChunks::Place> BtrfsChunks::find(std::uint64_t logical) const {
  auto it = std::ranges::upper_bound(chunks_, logical, {}, &BtrfsChunk::logical);
  if (it == chunks_.begin()) {
    return std::nullopt;
  }
  --it;
  const std::uint64_t inside = logical - it->logical;
  if (inside >= it->length) {
    return std::nullopt;
  }
  return Place{it->physical + inside, it->length - inside};
}

std::string btrfs_read_ahead_kb(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  btrfs_ioctl_fs_info_args info{};
  if (!fd || ::ioctl(fd.get(), BTRFS_IOC_FS_INFO, &info) != 0) {
    return {};
  }
  std::string uuid;
  for (std::size_t i = 0; i < sizeof info.fsid; ++i) {
    uuid += fmt::format("{}{:02x}", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", info.fsid[i]);
  }
  return first_line("/sys/fs/btrfs/" + uuid + "/bdi/read_ahead_kb");
}

}  // namespace blksweep
