#include "os/block/request_limits.h"

#include <sys/prctl.h>

#include "base/marked_word.h"
#include "base/units.h"
#include "os/file/file.h"

namespace blksweep {
namespace {

constexpr std::uint64_t kHugeRun = std::uint64_t{2} << 20;

std::uint64_t limit(const std::string& disk, const char* name) {
  const std::uint64_t value = first_number("/sys/block/" + disk + "/queue/" + name);
  return value > 0 ? value : RequestLimits::kUnlimited;
}

std::uint64_t segments_of(const iovec& v, const RequestLimits& limits) {
  const std::uint64_t page = limits.huge_pages ? kHugeRun : kPageBytes;
  const std::uint64_t within = reinterpret_cast<std::uintptr_t>(v.iov_base) % page;
  const std::uint64_t runs = (within + v.iov_len + page - 1) / page;
  const std::uint64_t most = limits.segment_bytes;
  return most >= page ? runs : runs - 1 + (v.iov_len + most - 1) / most;
}

}  // namespace

std::string huge_pages_mode() {
  const std::string folder = "/sys/kernel/mm/transparent_hugepage/";
  const std::string own =
      marked_word(whole_text(folder + "hugepages-2048kB/enabled"));  // Linux 6.8
  const std::string mode =
      own.empty() || own == "inherit" ? marked_word(whole_text(folder + "enabled")) : own;
  const bool refused = ::prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == 1;
  return mode.empty() || refused ? "never" : mode;
}

RequestLimits limits_of(const std::string& disk) {
  const std::uint64_t kib = limit(disk, "max_sectors_kb");
  return {.bytes = kib == RequestLimits::kUnlimited ? kib : kib << 10,
          .segments = limit(disk, "max_segments"),
          .segment_bytes = limit(disk, "max_segment_size"),
          .huge_pages = huge_pages_mode() != "never"};
}

bool may_split(std::span<const iovec> memory, const RequestLimits& limits) {
  if (limits.bytes == RequestLimits::kUnlimited && limits.segments == RequestLimits::kUnlimited) {
    return false;  // of a file: nothing is counted in each request
  }
  std::uint64_t bytes = 0;
  std::uint64_t segments = 0;
  for (const iovec& v : memory) {
    bytes += v.iov_len;
    segments += segments_of(v, limits);
  }
  return bytes > limits.bytes || segments > limits.segments;
}

}  // namespace blksweep
