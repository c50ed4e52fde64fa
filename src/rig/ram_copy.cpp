#include "rig/ram_copy.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <numeric>
#include <vector>

#include "base/rng.h"
#include "dataset/target_folder.h"
#include "disk/disk.h"
#include "disk/loop_device.h"
#include "model/model_spec.h"
#include "os/file/file.h"
#include "os/memory/memory_room.h"
#include "os/process/signals.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kRamStream = 0x72616D;
constexpr std::uint64_t kForFilesystem = std::uint64_t{48} << 20;
constexpr std::size_t kPiece = std::size_t{1} << 20;

// Of the files, by number, in the order of their addresses.
std::vector<std::uint32_t> choose(const Catalog& catalog, std::uint64_t most, std::uint64_t seed) {
  std::vector<std::uint32_t> all(catalog.files.size());
  std::iota(all.begin(), all.end(), 0U);
  Rng rng(seed, kRamStream);
  shuffle(std::span(all), rng);
  std::uint64_t bytes = 0;
  std::erase_if(all, [&](std::uint32_t f) {
    const bool fits = bytes + catalog.files[f].size <= most;
    bytes += fits ? catalog.files[f].size : 0;
    return !fits;
  });
  std::ranges::sort(all, {}, [&](std::uint32_t f) {
    const auto extents = catalog.extents_of(f);
    return extents.empty() ? 0 : extents.front().device_offset;
  });
  return all;
}

std::uint64_t with_blocks(const Catalog& catalog, const std::vector<std::uint32_t>& files) {
  return std::accumulate(files.begin(), files.end(), std::uint64_t{0},
                         [&](std::uint64_t sum, std::uint32_t f) {
                           return sum + align_up(catalog.files[f].size, kPageBytes) + 1024;
                         });
}

Result<> copy_bytes(const Fd& from, const Fd& to, const std::string& name) {
  std::vector<std::byte> piece(kPiece);
  for (std::uint64_t at = 0;;) {
    BLKSWEEP_TRY(const std::size_t n, pread_full(from.get(), piece, at, name));
    BLKSWEEP_CHECK(write_full(to.get(), std::span(piece).first(n), name));
    at += n;
    if (n < piece.size()) {
      return {};
    }
  }
}

Result<> copy_file(const Catalog& catalog, std::uint32_t file, const std::string& folder) {
  const std::string source = catalog.full_path(file);
  const fs::path target = fs::path(folder) / std::string(catalog.path(file));
  std::error_code ec;
  fs::create_directories(target.parent_path(), ec);
  BLKSWEEP_TRY(const Fd from, open_readonly(source));
  const Fd to(::open(target.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!to) {
    return sys_error(errno, "create " + target.string());
  }
  BLKSWEEP_CHECK(copy_bytes(from, to, source));
  ::posix_fadvise(from.get(), 0, 0, POSIX_FADV_DONTNEED);
  return {};
}

Result<> copy_files(const Catalog& catalog, const std::vector<std::uint32_t>& files,
                    const std::string& folder) {
  for (const std::uint32_t f : files) {
    if (stop_requested()) {
      return fail("interrupted: what was set up is taken down", Exit::interrupted);
    }
    BLKSWEEP_CHECK(copy_file(catalog, f, folder));
  }
  return sync_filesystem(folder);
}

// On a device that others use afterwards it would have to be given back.
Result<> switch_merging_off(const DiskState& disk) {
  const std::string name = disk.device.substr(disk.device.rfind('/') + 1);
  const auto number = parse_count(std::string_view(name).substr(std::string_view("loop").size()));
  if (!number || *number < kFirstOwnLoop) {
    return fail("no loop device of its own number could be had");
  }
  return set_queue_value(name, "nomerges", "2");
}

}  // namespace

std::string RamCopy::folder() const { return mount_.path() + "/data"; }

Result<RamCopy> RamCopy::make(const Catalog& catalog, std::uint64_t seed) {
  BLKSWEEP_CHECK(check_disk_rights());
  const std::uint64_t free = meminfo("MemAvailable").value_or(Bytes{kMostRamBytes}).n;
  const std::vector<std::uint32_t> files = choose(catalog, std::min(kMostRamBytes, free / 4), seed);
  if (files.empty()) {
    return fail("no file is small enough for a copy in memory");
  }
  BLKSWEEP_TRY(PrivateFolder mount, PrivateFolder::make("ram"));
  BLKSWEEP_TRY(Borrowing borrowing, Borrowing::begin());
  const std::string root(catalog.root);
  const std::string name =
      fmt::format("ram-{:08x}", static_cast<std::uint32_t>(XXH3_64bits(root.data(), root.size())));
  const unsigned loop = own_loop_number(name);
  RamCopy copy(std::move(mount), std::move(borrowing));
  BLKSWEEP_CHECK(copy.borrowing_.add({.kind = LoanKind::disk,
                                      .key = "the copy in memory of " + root,
                                      .what = fmt::format("disk {} (in memory)", name),
                                      .path = name,
                                      .text = std::to_string(loop)}));
  const DiskWish wish{
      .name = name,
      .model = {.name = "none", .description = "", .timing = InstantSpec{}},
      .size = Bytes{align_up(with_blocks(catalog, files) * 5 / 4 + kForFilesystem, kPageBytes)},
      .filesystem = "ext4",
      .mount = copy.mount_.path(),
      .loop = loop};
  BLKSWEEP_TRY(const DiskState disk, start_disk(Registry(), wish));
  BLKSWEEP_CHECK(copy_files(catalog, files, copy.folder()));
  BLKSWEEP_CHECK(switch_merging_off(disk));
  copy.files_ = files.size();
  return copy;
}

Result<> RamCopy::down() { return borrowing_.restore(); }

}  // namespace blksweep
