#include "map/measure.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>

#include "base/clock.h"
#include "base/fd.h"
#include "disk/disk_watch.h"
#include "disk/registry.h"
#include "map/device_reader.h"
#include "map/plan.h"
#include "map/schedule.h"
#include "model/map_modes.h"
#include "os/block/blockdev.h"
#include "os/block/disk_use.h"
#include "os/block/layer_facts.h"
#include "os/file/denied.h"
#include "os/file/direct_io.h"
#include "os/file/file.h"
#include "os/file/open_regular.h"
#include "os/file/written_ranges.h"
#include "os/hostfacts.h"
#include "os/process/standstill.h"

namespace blksweep {
namespace {

struct Target {
  Fd fd;  // O_RDONLY, O_DIRECT
  std::uint64_t size = 0;
  std::uint32_t block = kPageBytes;
  std::string disk, node, mounted_at;
  bool device = false;  // not a file
  bool partition = false;
};

std::string trimmed_line(const std::string& path) {
  std::string line = first_line(path);
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::string model_of(const std::string& disk) {
  if (const auto emulated = emulated_disk(disk)) {
    return emulated->hardware_name();
  }
  const std::string model = trimmed_line("/sys/block/" + disk + "/device/model");
  const std::string backing = trimmed_line("/sys/block/" + disk + "/loop/backing_file");
  const auto beneath = emulated_beneath(disk);
  const std::string on = beneath ? ", on " + beneath->hardware_name() : "";
  return !model.empty() ? model : !backing.empty() ? "loop device on " + backing + on : "";
}

// btrfs has a device number of its own, and says by its source where it lies.
bool is_mount_on(const MountFacts& mount, const std::string& disk) {
  const auto device = mount.filesystem == "btrfs"
                          ? block_device_of_name(mount.source.substr(mount.source.rfind('/') + 1))
                          : block_device_of_dev(mount.dev);
  return device && device->disk == disk;
}

// Where a disk or one of its partitions is mounted; empty: nowhere.
std::string mount_point_of(const std::string& disk) {
  const auto all = mounts();
  const auto m =
      std::ranges::find_if(all, [&](const MountFacts& mount) { return is_mount_on(mount, disk); });
  return m == all.end() ? "" : m->mount_point;
}

Result<Fd> open_direct(const std::string& path, bool device) {
  Fd fd(open_kind_at(AT_FDCWD, path.c_str(), O_DIRECT, device ? S_IFBLK : S_IFREG));
  if (fd) {
    return fd;
  }
  const int error = errno;
  if (error == EINVAL) {
    return unsupported(path +
                       " cannot be read with O_DIRECT (its filesystem has none): map a file on "
                       "ext4, xfs or btrfs, or the device itself");
  }
  if ((error == EACCES || error == EPERM) && device) {
    return fail(
        fmt::format("open {}: {}: {}", path, ::strerror(error),
                    denied_words(error, "reading a block device needs root or group disk")));
  }
  return sys_error(error, "open " + path);
}

Result<Target> open_target(const std::string& path) {
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) {
    return sys_error(errno, "open " + path);
  }
  Target t;
  t.device = S_ISBLK(st.st_mode);
  if (!t.device && !S_ISREG(st.st_mode)) {
    return usage_error(path + " is neither a block device nor a file: name one of them");
  }
  BLKSWEEP_TRY(t.fd, open_direct(path, t.device));
  const off_t end = ::lseek(t.fd.get(), 0, SEEK_END);
  if (end < 0) {
    return sys_error(errno, "size of " + path);
  }
  t.size = static_cast<std::uint64_t>(end);
  if (const auto device = block_device_of(path)) {
    t.disk = device->disk;
    t.node = device->node;
    t.partition = t.device && device->dev != device->whole_disk;
    t.block = std::max(t.block, device->logical_block);
    t.mounted_at = t.device ? mount_point_of(device->disk) : "";
  }
  if (const auto direct = direct_io_of(path); direct && direct->align > t.block) {
    t.block = direct->align;
  }
  return t;
}

void warn_of_target(const Target& t, std::vector<std::string>& warnings) {
  if (!t.device) {
    warnings.emplace_back(
        "a file: distance is distance in the file, which is distance on the device only where the "
        "file is contiguous");
  }
  if (t.partition) {
    warnings.push_back(t.node + " is a partition: distances and zones are those of its part of " +
                       t.disk);
  }
}

// Counters of the device; without them nobody knows who answered.
Result<DiskStat> counters_of(const Target& t) {
  return t.disk.empty() ? fail("no block device lies below it") : counting_stat(t.disk);
}

// Direct reads of a compressed or encrypted file, or of a page that is in memory only, are the
// cache's.
void warn_of_memory(const Target& t, std::uint64_t all, std::uint64_t ours,
                    std::vector<std::string>& warnings) {
  if (!others_read(all, ours)) {
    warnings.push_back(fmt::format(
        "{} read {} of the {} that were asked for: memory answered the rest, as of a compressed "
        "file, and no figure is the device's: map another file, or the device",
        t.disk, format_bytes({all}), format_bytes({ours})));
  }
}

// What the device did beside our own reads, as far as the kernel's counters tell.
void warn_of_others(const Target& t, const Result<DiskStat>& before, std::uint64_t ours,
                    std::vector<std::string>& warnings) {
  const Result<DiskStat> after = before ? counters_of(t) : before;
  if (!after) {
    warnings.push_back("whether a device answered, and who else used it, is not known: " +
                       after.error().text);
    return;
  }
  const DiskStat done = *after - *before;
  warn_of_memory(t, done.read_sectors * kSectorBytes, ours, warnings);
  if (const OthersUse others = others_beside(done, ours); others.notable) {
    warnings.push_back(fmt::format(
        "{} read {} and wrote {} beside this map's {}{}: others used it, and latencies include "
        "theirs: map it while nobody does",
        t.disk, format_bytes({others.read_bytes}), format_bytes({others.written_bytes}),
        format_bytes({ours}), t.mounted_at.empty() ? "" : " (mounted at " + t.mounted_at + ")"));
  }
}

// What decides how the disk answers, below the map.
struct Answers {
  std::vector<LayerFact> layers;
  std::vector<std::pair<std::string, std::string>> queue;
};

Answers answers_of(const Target& t) {
  Answers a{layer_facts(t.disk), queue_settings(t.disk)};
  a.layers.push_back({t.disk, "model", model_of(t.disk)});
  return a;
}

void warn_of_change(const Answers& then, const Answers& now, DiskWatch& watch,
                    std::vector<std::string>& warnings) {
  for (const std::string& what : {difference(then.layers, now.layers),
                                  changed_queue(then.queue, now.queue), watch.changed()}) {
    if (!what.empty()) {
      warnings.push_back(what +
                         ": the disk was changed meanwhile, and figures mix both: map it anew");
    }
  }
}

WrittenRanges written_of(const MapSettings& settings, const Target& target) {
  if (settings.unwritten || emulated_disk(target.disk)) {
    return {};
  }
  WrittenRanges written = written_ranges(settings.path, target.size);
  if (!written.by.empty() && written.ranges.empty()) {
    written.ranges.push_back({0, 0});  // not the same as "everywhere"
  }
  return written;
}

void note_left_out(const WrittenRanges& written, MeasuredMap& measured) {
  if (written.by.empty()) {
    return;
  }
  measured.map.left_out = measured.map.size - std::min(measured.map.size, written.bytes());
  measured.map.left_out_by = written.by;
  if (*measured.map.left_out > 0) {
    measured.warnings.push_back(fmt::format(
        "{} of {} are left out, because {} say that they were never written (--unwritten reads "
        "them, too)",
        format_bytes({*measured.map.left_out}), format_bytes({measured.map.size}), written.by));
  }
}

void warn_of_modes(MeasuredMap& measured) {
  if (const auto modes = two_modes(measured.map)) {
    measured.warnings.push_back(fmt::format(
        "latencies have two modes, by place: {} of {} places answer in {}, the others in {}: "
        "unwritten or trimmed addresses need no medium, and every figure mixes both",
        modes->fast_places, modes->places,
        format_duration(Nanos(static_cast<std::int64_t>(modes->fast_ns))),
        format_duration(Nanos(static_cast<std::int64_t>(modes->slow_ns)))));
  }
}

LatencyMap empty_map(const MapSettings& settings, const Target& target) {
  LatencyMap map;
  map.device = settings.path;
  map.device_model = model_of(target.disk);
  map.kernel = read_host_facts().kernel;
  map.size = target.size;
  map.rotational = trimmed_line("/sys/block/" + target.disk + "/queue/rotational") == "1";
  map.started_unix_ns = unix_ns();
  map.seed = settings.seed;
  return map;
}

// What can be measured: depth needs a ring.
Result<std::vector<MapPart>> parts_without_ring(std::vector<MapPart> parts,
                                                const std::string& refused, MeasuredMap& measured) {
  measured.engine = refused.empty() ? "psync, io_uring above depth 1" : "psync";
  if (refused.empty()) {
    return parts;
  }
  std::erase(parts, MapPart::depth);
  if (parts.empty()) {
    return unsupported("--parts depth needs io_uring, which is refused here: " + refused);
  }
  measured.warnings.push_back(fmt::format(
      "engine: psync for every read, because io_uring is refused here ({}): depth is not measured, "
      "and zones with one read in flight instead of two",
      refused));
  return parts;
}

MapSchedule schedule_of(const MapSettings& settings, const std::vector<MapPart>& parts) {
  const std::atomic<bool>* stop = settings.stop;
  MapSchedule schedule;
  schedule.shares = map_shares(parts);
  schedule.time = settings.time;
  schedule.stop = [stop] { return stop != nullptr && stop->load(std::memory_order_relaxed); };
  schedule.on_progress = settings.on_progress;
  return schedule;
}

}  // namespace

Result<> check_map(const MapSettings& settings) {
  BLKSWEEP_TRY(const Target target, open_target(settings.path));
  const WrittenRanges written = written_of(settings, target);
  BLKSWEEP_CHECK(MapPlan::make({target.size, target.block, settings.seed, written.ranges}));
  return {};
}

Result<MeasuredMap> measure_map(const MapSettings& settings) {
  BLKSWEEP_TRY(Target target, open_target(settings.path));
  const WrittenRanges written = written_of(settings, target);
  BLKSWEEP_TRY(MapPlan plan,
               MapPlan::make({target.size, target.block, settings.seed, written.ranges}));
  BLKSWEEP_TRY(const auto reader,
               DeviceReader::open(target.fd, plan.largest_read(), settings.stop));
  MeasuredMap measured;
  measured.disk = target.disk;
  measured.map = empty_map(settings, target);
  note_left_out(written, measured);
  warn_of_target(target, measured.warnings);
  const Answers answers = answers_of(target);
  DiskWatch watch = DiskWatch::begin(target.disk);
  const Result<DiskStat> before = counters_of(target);
  BLKSWEEP_TRY(const std::vector<MapPart> parts,
               parts_without_ring(settings.parts, reader->ring_refused(), measured));
  const MapSchedule schedule = schedule_of(settings, parts);
  const Standstill standstill;
  BLKSWEEP_CHECK(run_map(plan, *reader, schedule, measured.map.reads));
  if (const std::string held = standstill.seen(); !held.empty()) {
    measured.warnings.push_back(
        held + ": the reads of that time are slower than the device: measure again");
  }
  measured.map.interrupted = schedule.stop();
  if (reader->errors() > 0) {
    measured.warnings.push_back(fmt::format("{} reads failed and are left out, the last: {}",
                                            reader->errors(), reader->last_error()));
  }
  warn_of_others(target, before, reader->bytes(), measured.warnings);
  warn_of_change(answers, answers_of(target), watch, measured.warnings);
  warn_of_modes(measured);
  return measured;
}

}  // namespace blksweep
