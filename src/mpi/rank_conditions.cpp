#include "mpi/rank_conditions.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/json.h"
#include "experiment/describe_host.h"
#include "os/block/disk_use.h"
#include "os/block/own_reads.h"
#include "os/file/file.h"
#include "os/hostfacts.h"

namespace blksweep {

RankConditions::RankConditions(const Source& source, bool of_disk)
    : source_(source), of_disk_(of_disk), allowed_(allowed_cpus()) {
  if (of_disk) {
    host_ = host_conditions(source);
    watch_ = DiskWatch::begin(source.device ? source.device->disk : "");
  } else {
    host_.cgroup = cgroup_limits();
  }
}

void RankConditions::begin() { before_ = stat(); }

// Where others read for us, what is ours cannot be told.
std::optional<DiskStat> RankConditions::stat() const {
  const bool foreign = source_.mount && others_read_for_us(source_.mount->filesystem);
  if (!of_disk_ || !source_.device || foreign) {
    return std::nullopt;
  }
  const auto now = counting_stat(source_.device->disk);
  return now ? std::optional(*now) : std::nullopt;
}

std::string RankConditions::disk_use() const {
  const std::optional<DiskStat> now = before_ ? stat() : std::nullopt;
  if (!now) {
    return "";
  }
  const DiskStat done = *now - *before_;
  // Nodes that are containers of one kernel count each other's reads, too.
  return json_line({{"boot", first_line("/proc/sys/kernel/random/boot_id")},
                    {"disk", source_.device->disk},
                    {"reads", done.reads},
                    {"read_sectors", done.read_sectors},
                    {"writes", done.writes},
                    {"write_sectors", done.write_sectors},
                    {"discards", done.discards}});
}

std::string RankConditions::changed() {
  if (const std::string now = allowed_cpus(); now != allowed_) {
    return fmt::format("the CPUs that it may run on changed: {}, now {}", allowed_, now);
  }
  if (std::string changed = changed_conditions(host_, source_); !changed.empty()) {
    return changed;
  }
  return watch_ ? watch_->changed() : "";
}

namespace {

// By all ranks under the kernel that counted; of a node that does not say, they are not known.
std::optional<std::uint64_t> read_under(const std::string& boot, const std::vector<Json>& uses,
                                        const std::vector<RankRow>& rows) {
  std::set<std::uint32_t> nodes;
  for (std::size_t rank = 0; rank < rows.size(); ++rank) {
    if (uses[rank].is_object() && uses[rank].value("boot", "") == boot) {
      nodes.insert(rows[rank].node);
    }
  }
  std::uint64_t sum = 0;
  for (const RankRow& row : rows) {
    const bool there = nodes.contains(row.node);
    if (there && row.storage_known == 0) {
      return std::nullopt;
    }
    sum += there ? row.storage_bytes : 0;
  }
  return sum;
}

std::string shared_disk(const Json& use, std::uint64_t own) {
  const auto count = [&](const char* name) { return use.value(name, std::uint64_t{0}); };
  const DiskStat done{.reads = count("reads"),
                      .read_sectors = count("read_sectors"),
                      .writes = count("writes"),
                      .write_sectors = count("write_sectors"),
                      .discards = count("discards")};
  const std::string disk = use.value("disk", "");
  const auto others = others_read(done.read_sectors * kSectorBytes, own);
  const std::string text =
      others ? others_warning(disk, {.own_bytes = own, .other_bytes = *others, .reads = done.reads})
             : "";
  return text.empty() ? writes_warning(disk, writes_beside(done, own)) : text;
}

}  // namespace

std::vector<std::string> shared_disks(const std::vector<std::string>& uses,
                                      const std::vector<RankRow>& rows) {
  std::vector<std::string> lines(rows.size());
  std::vector<Json> told(rows.size());
  std::ranges::transform(uses, told.begin(),
                         [](const std::string& text) { return parse_json(text); });
  for (std::size_t rank = 0; rank < rows.size(); ++rank) {
    if (told[rank].is_object()) {
      const auto own = read_under(told[rank].value("boot", ""), told, rows);
      lines[rank] = own ? shared_disk(told[rank], *own) : "";
    }
  }
  return lines;
}

}  // namespace blksweep
