#include "os/memory/memory_room.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string>

#include "os/cgroup.h"
#include "os/file/file.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

// The smallest limit from the group up to the mount; "max" is no number and no limit.
std::optional<Bytes> cgroup_limit() {
  const CgroupPlace place = cgroup_place(Controller::memory);
  const char* const file = place.version == 1 ? "memory.limit_in_bytes" : "memory.max";
  std::optional<Bytes> smallest;
  for (fs::path at = place.own; at.string().starts_with(place.mount) && !place.own.empty();
       at = at.parent_path()) {
    if (const auto n = parse_count(first_line((at / file).string()))) {
      smallest = std::min(Bytes{*n}, smallest.value_or(Bytes{*n}));
    }
    if (at == place.mount) {
      break;
    }
  }
  return smallest;
}

}  // namespace

std::optional<Bytes> meminfo(std::string_view text, std::string_view key) {
  const std::string line_begin = "\n" + std::string(key) + ":";
  const std::string whole = "\n" + std::string(text);
  const std::size_t line = whole.find(line_begin);
  const std::size_t number = line == std::string::npos
                                 ? line
                                 : whole.find_first_of("0123456789", line + line_begin.size());
  std::uint64_t kib = 0;
  if (number == std::string::npos ||
      std::from_chars(whole.data() + number, whole.data() + whole.size(), kib).ec != std::errc{}) {
    return std::nullopt;
  }
  return Bytes{kib * 1024};
}

std::optional<Bytes> meminfo(std::string_view key) {
  return meminfo(whole_text("/proc/meminfo"), key);
}

MemoryRoom memory_room() { return {meminfo("MemAvailable"), cgroup_limit()}; }

}  // namespace blksweep
