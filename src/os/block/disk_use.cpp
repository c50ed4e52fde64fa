#include "os/block/disk_use.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"

namespace blksweep {
namespace {

// A mounted filesystem's own threads read a block here and there (some 100 KiB in a second of ext4,
// xfs or btrfs); beyond this somebody works on the disk, and takes a share of it that shows.
constexpr double kOthersShare = 0.05;
constexpr std::uint64_t kOthersBytes = 1U << 20;
constexpr std::uint64_t kOthersRequests = 16;  // docs/journal/2026-11-23-shared-disk.md

bool is_notable(std::uint64_t others, std::uint64_t beside) {
  return others > kOthersBytes &&
         static_cast<double>(others) > kOthersShare * static_cast<double>(beside);
}

std::string discards_text(std::uint64_t discards) {
  return discards == 0 ? "" : fmt::format(" ({} of them discards)", format_count(discards));
}

}  // namespace

std::optional<std::uint64_t> others_read(std::optional<std::uint64_t> device_bytes,
                                         std::optional<std::uint64_t> own_bytes) {
  if (!device_bytes || !own_bytes ||
      (*own_bytes > *device_bytes && is_notable(*own_bytes - *device_bytes, *device_bytes))) {
    return std::nullopt;
  }
  return *device_bytes - std::min(*own_bytes, *device_bytes);
}

bool is_shared(const DiskUse& use) {
  const std::uint64_t most =
      use.other_requests.value_or(std::min(use.other_bytes / kPageBytes, use.reads));
  const bool many = use.own_bytes > 0 && most > kOthersRequests &&
                    static_cast<double>(most) > kOthersShare * static_cast<double>(use.reads);
  return many || is_notable(use.other_bytes, use.own_bytes);
}

DiskUse writes_beside(const DiskStat& done, std::uint64_t own_bytes) {
  return {.own_bytes = own_bytes,
          .other_bytes = done.write_sectors * kSectorBytes,
          .other_requests = done.writes + done.discards,
          .reads = done.reads,
          .discards = done.discards};
}

OthersUse others_beside(const DiskStat& done, std::uint64_t own_bytes) {
  const std::uint64_t all = done.read_sectors * kSectorBytes;
  OthersUse use{.read_bytes = all - std::min(all, own_bytes),
                .written_bytes = done.write_sectors * kSectorBytes};
  use.notable =
      is_shared({.own_bytes = own_bytes, .other_bytes = use.read_bytes, .reads = done.reads}) ||
      is_shared(writes_beside(done, own_bytes));
  return use;
}

std::string others_warning(const std::string& disk, const DiskUse& read) {
  return !is_shared(read)
             ? ""
             : fmt::format(
                   "others read {} from {} while this run read {}: its times "
                   "are those of a disk that was shared",
                   format_bytes({read.other_bytes}), disk, format_bytes({read.own_bytes}));
}

std::string writes_warning(const std::string& disk, const DiskUse& written) {
  return !is_shared(written)
             ? ""
             : fmt::format(
                   "{} were written to {}{} while {} were read: the times are "
                   "those of a disk that was shared",
                   format_bytes({written.other_bytes}), disk,
                   written.other_requests
                       ? fmt::format(" in {} requests{}", format_count(*written.other_requests),
                                     discards_text(written.discards))
                       : "",
                   format_bytes({written.own_bytes}));
}

}  // namespace blksweep
