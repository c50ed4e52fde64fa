#include "replay/doubts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "os/block/blockdev.h"
#include "os/block/layer_facts.h"

namespace blksweep {
namespace {

constexpr double kFewRounded = 0.01;    // of the requests
constexpr double kMostFromDisk = 0.95;  // of the bytes: what a disk gave almost all of

std::string of_clock(const TraceFacts& facts, const ReplaySettings& settings) {
  const std::int64_t step = clock_step(facts, settings);
  if (step <= kLateBound) {
    return "";
  }
  return fmt::format(
      "the trace's clock has steps of {}{}: what is within one is issued at once, and lateness "
      "below it is not judged",
      format_duration(Nanos(step)), settings.speed == 1 ? "" : " at this speed");
}

std::string of_volumes(const TraceSurvey& survey, const ReplaySettings& settings) {
  const auto volumes =
      std::ranges::count_if(survey.ends, [](std::uint64_t end) { return end > 0; });
  if (settings.device.empty() || settings.addresses == AddressMode::stack || volumes < 2) {
    return "";
  }
  return fmt::format(
      "{} volumes of the trace lie over one another on {}: --addresses stack keeps them apart",
      volumes, settings.device);
}

// What is seen below the block layer has the addresses of the whole disk, whatever was opened.
std::string of_partition(const ReplayMeans& m) {
  const std::string& format = m.facts.format;
  const bool of_disk = format == "recorded" || format == "blktrace" || format == "blkparse";
  const AddressMode mode = m.settings.addresses;
  if (m.partition_start == 0 || !of_disk || mode == AddressMode::scale ||
      mode == AddressMode::stack) {
    return "";
  }
  return fmt::format(
      "the trace has addresses of a whole disk, and {} is a partition: each request lies {} "
      "further on its disk than {}; --device with the whole disk keeps them in place",
      m.settings.device, format_bytes({m.partition_start}),
      mode == AddressMode::wrap ? "its address modulo the partition's size" : "recorded");
}

std::string of_rounding(const ReplayReport& r) {
  if (static_cast<double>(r.rounded) <= kFewRounded * static_cast<double>(r.requests)) {
    return "";
  }
  return fmt::format(
      "{} of {} requests were rounded outwards to whole blocks: bytes and rates are those of the "
      "blocks",
      format_count(r.rounded), format_count(r.requests));
}

// Of the folder that files are replayed in; empty: of a device, or not known.
std::string filesystem_of(const ReplaySettings& settings) {
  if (settings.folder.empty()) {
    return "";
  }
  const Result<MountFacts> mount = mount_of(settings.folder);
  return mount ? mount->filesystem : "";
}

std::string of_memory(const ReplayReport& r, const ReplaySettings& settings,
                      const std::string& filesystem) {
  if (is_memory(filesystem)) {
    return fmt::format("cold: {} is memory: no read of it needs a medium", settings.folder);
  }
  if (!settings.folder.empty() && !r.own_read_bytes) {
    return fmt::format(
        "what of it was read from a disk is not known: {} is on {}, where others read for us: "
        "perhaps from memory (a replay of files on ext4, xfs or btrfs tells)",
        settings.folder, filesystem.empty() ? "an unknown filesystem" : filesystem);
  }
  const double from_disk = kMostFromDisk * static_cast<double>(r.bytes);
  if (r.writes > 0 || !r.own_read_bytes || static_cast<double>(*r.own_read_bytes) >= from_disk) {
    return "";
  }
  return fmt::format(
      "{} of the {} were read from a disk: the page cache had the rest, or it is holes",
      format_bytes({*r.own_read_bytes}), format_bytes({r.bytes}));
}

// Reads on another disk are the process's, too, and what is counted twice hides a neighbour's.
std::string of_others(const ReplayReport& r, const std::string& filesystem) {
  if (!r.own_read_bytes || r.others_read_bytes || is_memory(filesystem)) {
    return "";
  }
  return fmt::format(
      "who else read the disk is not known: this process read {} from disks, which this one's "
      "count of reads does not hold",
      format_bytes({*r.own_read_bytes}));
}

}  // namespace

std::int64_t clock_step(const TraceFacts& facts, const ReplaySettings& settings) {
  constexpr double kLongest = 1e18;
  if (settings.timing == Timing::asap) {
    return 0;  // what is due when a place is free is due by our clock
  }
  return static_cast<std::int64_t>(
      std::min(kLongest, static_cast<double>(facts.quantum_ns) / settings.speed));
}

std::vector<std::string> doubts_of(const ReplayReport& report, const ReplayMeans& m) {
  const std::string filesystem = filesystem_of(m.settings);
  std::vector<std::string> out{of_clock(m.facts, m.settings),
                               of_volumes(m.survey, m.settings),
                               of_partition(m),
                               of_rounding(report),
                               of_memory(report, m.settings, filesystem),
                               of_others(report, filesystem)};
  std::erase(out, "");
  return out;
}

}  // namespace blksweep
