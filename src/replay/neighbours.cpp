#include "replay/neighbours.h"

#include <algorithm>

#include "base/units.h"
#include "os/block/disk_use.h"
#include "os/block/own_reads.h"

namespace blksweep {
namespace {

bool reads_for_itself(const std::string& path) {
  const auto mount = mount_of(path);
  return !mount || !others_read_for_us(mount->filesystem);
}

std::optional<std::uint64_t> beyond(std::uint64_t all, std::optional<std::uint64_t> own) {
  return own ? std::optional(all - std::min(all, *own)) : std::nullopt;
}

std::optional<std::uint64_t> since(std::optional<std::uint64_t> then,
                                   std::optional<std::uint64_t> now) {
  return then && now ? std::optional(*now - *then) : std::nullopt;
}

}  // namespace

Neighbours::Neighbours(const std::string& disk, const std::string& path)
    : disk_(disk), ours_(reads_for_itself(path)), before_(count()) {}

Neighbours::Counts Neighbours::count() const {
  Counts c;
  if (ours_) {
    if (!disk_.empty()) {
      const auto stat = counting_stat(disk_);
      c.disk = stat ? std::optional(*stat) : std::nullopt;
    }
    c.own_read = own_read_bytes();
    c.own_written = own_written_bytes();
  }
  return c;
}

Neighbours::Seen Neighbours::seen() const {
  const Counts now = count();
  Seen seen;
  seen.own_read_bytes = since(before_.own_read, now.own_read);
  if (!before_.disk || !now.disk) {
    return seen;
  }
  const DiskStat done = *now.disk - *before_.disk;
  const std::uint64_t read = done.read_sectors * kSectorBytes;
  const std::uint64_t written = done.write_sectors * kSectorBytes;
  const auto own_read = seen.own_read_bytes;
  const auto own_written = since(before_.own_written, now.own_written);
  seen.read_bytes = others_read(read, own_read);
  seen.written_bytes = beyond(written, own_written);
  if (seen.read_bytes) {
    seen.shared = others_warning(
        disk_, {.own_bytes = *own_read, .other_bytes = *seen.read_bytes, .reads = done.reads});
  }
  if (seen.shared.empty() && seen.written_bytes) {
    DiskUse use{.own_bytes = read + std::min(written, *own_written),
                .other_bytes = *seen.written_bytes,
                .reads = done.reads + done.writes,
                .discards = done.discards};
    if (*own_written == 0) {
      use.other_requests = done.writes + done.discards;  // none of them is ours
    }
    seen.shared = writes_warning(disk_, use);
  }
  return seen;
}

}  // namespace blksweep
