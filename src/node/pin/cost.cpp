// What a pin takes, and whether there is that much.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <sstream>
#include <string_view>

#include "node/limits/descriptor_room.h"
#include "node/pin/pin.h"
#include "os/file/file.h"
#include "os/memory/memory_room.h"

namespace blksweep {
namespace {

constexpr std::uint64_t kSlotBytes = sizeof(void*);  // in a descriptor table
constexpr int kCapIpcLock = 14;

struct ObjectSize {
  const char* filesystem;  // "" for any
  const char* cache;       // in /proc/slabinfo
  std::uint64_t usual;     // bytes, Linux 6.x on x86-64
};
// All that apply are added up: XFS keeps a log item beside an inode that was changed, not always.
constexpr std::array<ObjectSize, 8> kInodes{{{"ext4", "ext4_inode_cache", 1170},
                                             {"xfs", "xfs_inode", 1024},
                                             {"btrfs", "btrfs_inode", 1024},
                                             {"tmpfs", "shmem_inode_cache", 780},
                                             {"overlay", "ovl_inode", 712},
                                             {"f2fs", "f2fs_inode_cache", 1300},
                                             {"fuse", "fuse_inode", 910},
                                             {"nfs4", "nfs_inode_cache", 1100}}};
constexpr ObjectSize kOtherInode{"", "", 1100};
constexpr std::array<ObjectSize, 4> kBeside{{{"", "dentry", 195},
                                             {"", "filp", 256},
                                             {"", "lsm_inode_cache", 0},
                                             {"", "lsm_file_cache", 0}}};
constexpr ObjectSize kMapping{"", "vm_area_struct", 195};

// Bytes of memory per object, the slab's slack shared out; empty without the right to read it.
std::map<std::string, std::uint64_t> slab_sizes() {
  std::map<std::string, std::uint64_t> sizes;
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  std::istringstream lines(whole_text("/proc/slabinfo"));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string name;
    std::uint64_t active = 0, all = 0, size = 0, per_slab = 0, pages = 0;
    if (fields >> name >> active >> all >> size >> per_slab >> pages && per_slab > 0) {
      sizes[name] = pages * page / per_slab;
    }
  }
  return sizes;
}

const ObjectSize& inode_object(const std::string& filesystem) {
  const auto* const found = std::ranges::find_if(
      kInodes, [&](const ObjectSize& o) { return filesystem == o.filesystem; });
  return found == kInodes.end() ? kOtherInode : *found;
}

class Sizes {
 public:
  std::uint64_t of(const ObjectSize& object) const {
    const auto found = sizes_.find(object.cache);
    return found == sizes_.end() ? object.usual : found->second;
  }
  // Inode, dentry, open file and what a security module keeps beside them.
  std::uint64_t per_file(const std::string& filesystem) const {
    std::uint64_t sum = of(inode_object(filesystem));
    for (const ObjectSize& object : kBeside) {
      sum += of(object);
    }
    return sum;
  }
  const char* source() const {
    return sizes_.empty() ? "typical object sizes" : "object sizes in /proc/slabinfo";
  }

 private:
  std::map<std::string, std::uint64_t> sizes_ = slab_sizes();
};

Result<> check_memory(std::uint64_t need, const char* what) {
  const MemoryRoom room = memory_room();
  if (room.available && need > room.available->n) {
    return fail(fmt::format("the pin takes {} of {}, {} of memory are available: pin less",
                            format_bytes({need}), what, format_bytes(*room.available)));
  }
  if (room.cgroup_limit && need > room.cgroup_limit->n) {
    return fail(
        fmt::format("the pin takes {} of {}, the memory limit of this cgroup is {}: raise "
                    "it, or pin less",
                    format_bytes({need}), what, format_bytes(*room.cgroup_limit)));
  }
  return {};
}

bool may_lock_any() {
  std::istringstream lines(whole_text("/proc/self/status"));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("CapEff:")) {
      const std::size_t at = line.find_first_not_of(" \t", 7);
      std::uint64_t set = 0;
      std::from_chars(line.data() + std::min(at, line.size()), line.data() + line.size(), set, 16);
      return (set >> kCapIpcLock & 1) != 0;
    }
  }
  return false;
}

Result<> check_file_max(std::uint64_t files) {
  std::istringstream fields(first_line("/proc/sys/fs/file-nr"));
  std::uint64_t used = 0, free = 0, most = 0;
  if (!(fields >> used >> free >> most) || used + files <= most) {
    return {};
  }
  return fail(fmt::format(
      "{} descriptors are too many for this node: fs.file-max is {}, {} are in "
      "use: raise it (sysctl fs.file-max={}), or pin fewer files",
      format_count(files), format_count(most), format_count(used), used + files + files / 4));
}

Result<> check_lock_limit(Bytes locked) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_max == RLIM_INFINITY ||
      locked.n <= limit.rlim_max || may_lock_any()) {
    return {};
  }
  return fail(
      fmt::format("the pin locks {}, RLIMIT_MEMLOCK is {} and this process has no "
                  "CAP_IPC_LOCK: raise it (ulimit -l {}), or run as root",
                  format_bytes(locked), format_bytes({limit.rlim_max}), locked.n / 1024 + 1),
      Exit::unsupported);
}

}  // namespace

PinCost inode_pin_cost(std::uint64_t files, const std::string& filesystem) {
  const Sizes sizes;
  return {.files = files,
          .helpers = inode_helpers(files),
          .per_helper = descriptors_per_helper(),
          .kernel_memory = Bytes{files * (sizes.per_file(filesystem) + kSlotBytes)},
          .memory_source = sizes.source()};
}

PinCost page_pin_cost(std::span<const std::uint64_t> sizes, const std::string& filesystem) {
  const Sizes objects;
  PinCost cost{.files = sizes.size(),
               .per_helper = mappings_per_process(),
               .memory_source = objects.source()};
  for (const std::uint64_t size : sizes) {
    cost.locked.n += align_up(size, kPageBytes);
  }
  const std::uint64_t tables = cost.locked.n / kPageBytes * sizeof(std::uint64_t);
  cost.kernel_memory.n =
      cost.files * (objects.per_file(filesystem) + objects.of(kMapping)) + tables;
  cost.helpers = cost.files == 0 ? 0 : (cost.files - 1) / cost.per_helper;
  return cost;
}

Result<> check_inode_pin(const PinCost& cost) {
  BLKSWEEP_CHECK(check_file_max(cost.files));
  return check_memory(cost.kernel_memory.n, "kernel memory");
}

Result<> check_page_pin(const PinCost& cost) {
  BLKSWEEP_CHECK(check_file_max(cost.files));
  BLKSWEEP_CHECK(check_lock_limit(cost.locked));
  return check_memory(cost.locked.n + cost.kernel_memory.n, "memory");
}

}  // namespace blksweep
