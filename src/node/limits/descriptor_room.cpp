#include "node/limits/descriptor_room.h"

#include <sys/resource.h>

#include <algorithm>

#include "base/units.h"
#include "os/file/file.h"

namespace blksweep {
namespace {

constexpr std::uint64_t kReserve = 64;  // standard streams, links, what a library may open
// Cold inodes are read one by one by each helper: this many are on their way to the disk at once.
constexpr std::uint64_t kOpeners = 8;
constexpr std::uint64_t kFewFiles = 1024;
constexpr std::uint64_t kOwnMappings = 2048;  // libraries, stacks, arenas
constexpr std::uint64_t kUsualMappings = 65530;

}  // namespace

void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);  // a lower limit only means more helpers
  }
}

std::uint64_t descriptors_per_helper() {
  rlimit limit{};
  const std::uint64_t most =
      ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? std::uint64_t{limit.rlim_max} : 1024;
  return most > 2 * kReserve ? most - kReserve : std::max<std::uint64_t>(most / 2, 1);
}

std::uint64_t inode_helpers(std::uint64_t files) {
  const std::uint64_t room = descriptors_per_helper();
  const std::uint64_t needed = (files + room - 1) / room;
  return std::max(needed, std::min(kOpeners, (files + kFewFiles - 1) / kFewFiles));
}

std::uint64_t mappings_per_process() {
  const auto most = parse_count(first_line("/proc/sys/vm/max_map_count"));
  const std::uint64_t n = most && *most > 0 ? *most : kUsualMappings;
  return n > 2 * kOwnMappings ? n - kOwnMappings : std::max<std::uint64_t>(n / 2, 1);
}

}  // namespace blksweep
