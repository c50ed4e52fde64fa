#include "lab/map_measure.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>

#include "base/clock.h"
#include "base/fd.h"
#include "base/memory.h"
#include "io/engine.h"
#include "lab/map_plan.h"
#include "lab/map_schedule.h"
#include "os/blockdev.h"
#include "os/direct_io.h"
#include "os/hostfacts.h"

namespace blksweep {
namespace {

constexpr std::size_t kMostErrors = 10;
constexpr std::int64_t kLongestPause = 20'000'000;

struct Target {
  Fd fd;
  std::uint64_t size = 0;
  std::uint32_t block = kPageBytes;
  std::string disk, node, mounted_at;
  bool device = false;  // not a file
  bool partition = false;
};

void pause_ns(std::int64_t ns) {
  const timespec t{.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000};
  ::clock_nanosleep(CLOCK_MONOTONIC, 0, &t, nullptr);
}

// Two engines: psync for one read at a time (its time has no ring in it), io_uring for more.
class DeviceReader : public MapReader {
 public:
  static Result<std::unique_ptr<DeviceReader>> open(Target& target, std::uint32_t largest,
                                                    const std::atomic<bool>* stop) {
    auto reader = std::unique_ptr<DeviceReader>(new DeviceReader(stop));
    const std::uint32_t deepest = MapPlan::depths().back();
    const std::uint64_t arena =
        std::max<std::uint64_t>(largest, std::uint64_t{deepest} * reader->kSlot);
    BLKSWEEP_TRY(reader->arena_, PageBuffer::allocate({arena}));
    reader->iov_.resize(deepest);
    for (const auto& [kind, depth] : {std::pair{EngineKind::psync, 1U},
                                      std::pair{EngineKind::io_uring, deepest}}) {
      EngineSettings settings;
      settings.depth = depth;
      settings.file_slots = 1;
      settings.arena = reader->arena_.span();
      BLKSWEEP_TRY(auto engine, make_engine(kind, settings));
      Fd fd(::fcntl(target.fd.get(), F_DUPFD_CLOEXEC, 0));
      if (!fd) {
        return sys_error(errno, "duplicate a descriptor");
      }
      BLKSWEEP_CHECK(engine->set_files(0, {&fd, 1}));
      (kind == EngineKind::psync ? reader->single_ : reader->many_) = std::move(engine);
    }
    return reader;
  }

  std::int64_t now() override { return now_ns(); }

  Result<> carry_out(const MapBatch& batch, std::int64_t until,
                     std::vector<MapRead>& out) override {
    return batch.depth == 1 ? one_by_one(batch, until, out) : many(batch, until, out);
  }

  std::size_t errors() const { return errors_; }
  const std::string& last_error() const { return last_error_; }

 private:
  static constexpr std::uint32_t kSlot = 1U << 20;  // the largest read at a depth above 1
  explicit DeviceReader(const std::atomic<bool>* stop) : stop_(stop) { recent_.reserve(kRecent); }

  bool stopped() const { return stop_ != nullptr && stop_->load(std::memory_order_relaxed); }

  Result<> one_by_one(const MapBatch& batch, std::int64_t until, std::vector<MapRead>& out) {
    for (const MapStep& step : batch.steps) {
      if (stopped() || now_ns() >= until) {
        return {};
      }
      if (step.pause > 0) {
        pause_ns(std::min(kLongestPause, static_cast<std::int64_t>(step.pause * usual_latency())));
      }
      iov_[0] = {arena_.data(), step.bytes};
      const ReadRequest request{step.offset, iov_.data(), 1, 0, 0};
      const std::int64_t begin = now_ns();
      BLKSWEEP_CHECK(single_->submit({&request, 1}));
      Completion done{};
      BLKSWEEP_TRY(const std::size_t n, single_->reap({&done, 1}, 1));
      const std::int64_t latency = now_ns() - begin;
      BLKSWEEP_TRY(const bool good, check(done.result, step));
      if (good && n == 1 && step.recorded) {
        out.push_back({begin, latency, step.offset, step.distance, step.bytes, 1, batch.part});
        if (step.pause > 0) {
          remember(latency);
        }
      }
    }
    return {};
  }

  Result<> many(const MapBatch& batch, std::int64_t until, std::vector<MapRead>& out) {
    std::vector<std::uint32_t> free;  // tags are places in the arena
    for (std::uint32_t tag = batch.depth; tag-- > 0;) {
      free.push_back(tag);
    }
    std::vector<std::size_t> step_of(batch.depth);
    std::vector<std::int64_t> begin_of(batch.steps.size()), end_of(batch.steps.size(), -1);
    std::vector<ReadRequest> group;
    std::vector<Completion> done(batch.depth);
    std::size_t next = 0;
    while (true) {
      const bool more = next < batch.steps.size() && !stopped() && now_ns() < until;
      if (!more && free.size() == batch.depth) {
        break;
      }
      group.clear();
      while (more && !free.empty() && next < batch.steps.size()) {
        const std::uint32_t tag = free.back();
        free.pop_back();
        iov_[tag] = {arena_.data() + std::size_t{tag} * kSlot, batch.steps[next].bytes};
        group.push_back({batch.steps[next].offset, &iov_[tag], 1, 0, tag});
        step_of[tag] = next++;
      }
      const std::int64_t submitted = now_ns();
      for (const ReadRequest& r : group) {
        begin_of[step_of[r.tag]] = submitted;
      }
      if (!group.empty()) {
        BLKSWEEP_CHECK(many_->submit(group));
      }
      BLKSWEEP_TRY(const std::size_t n, many_->reap(done, 1));
      const std::int64_t reaped = now_ns();
      for (std::size_t i = 0; i < n; ++i) {
        const std::size_t step = step_of[done[i].tag];
        free.push_back(done[i].tag);
        BLKSWEEP_TRY(const bool good, check(done[i].result, batch.steps[step]));
        end_of[step] = good ? reaped : -1;
      }
    }
    for (std::size_t i = 0; i < next; ++i) {
      const MapStep& s = batch.steps[i];
      if (end_of[i] >= 0 && s.recorded) {
        out.push_back({begin_of[i], end_of[i] - begin_of[i], s.offset, 0, s.bytes, batch.depth,
                       batch.part});
      }
    }
    return {};
  }

  Result<bool> check(std::int32_t result, const MapStep& step) {
    if (result == static_cast<std::int32_t>(step.bytes)) {
      return true;
    }
    ++errors_;
    const std::string what =
        fmt::format("read of {} at byte {}", format_bytes({step.bytes}), step.offset);
    last_error_ = result < 0 ? sys_error(-result, what).value().text : what + ": short";
    if (errors_ >= kMostErrors) {
      return fail(fmt::format("{} reads failed, the last: {}: see the kernel log for the device",
                              errors_, last_error_));
    }
    return false;
  }

  // About the longest that a short distance usually takes: on a disk, somewhat more than one
  // revolution.
  double usual_latency() const {
    return recent_.empty() ? 0 : static_cast<double>(*std::ranges::max_element(recent_));
  }
  void remember(std::int64_t latency) {
    if (recent_.size() < kRecent) {
      recent_.push_back(latency);
    } else {
      recent_[recent_at_++ % kRecent] = latency;
    }
  }

  static constexpr std::size_t kRecent = 12;
  const std::atomic<bool>* stop_;
  PageBuffer arena_;
  std::vector<iovec> iov_;
  std::unique_ptr<Engine> single_, many_;  // drain before the buffers go
  std::vector<std::int64_t> recent_;
  std::size_t recent_at_ = 0;
  std::size_t errors_ = 0;
  std::string last_error_;
};

std::string one_line(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::string model_of(const std::string& disk) {
  const std::string model = one_line("/sys/block/" + disk + "/device/model");
  const std::string backing = one_line("/sys/block/" + disk + "/loop/backing_file");
  return !model.empty() ? model : !backing.empty() ? "loop device on " + backing : "";
}

// Where a device or one of its partitions is mounted; empty: nowhere.
std::string mount_point_of(const std::string& node) {
  std::ifstream in("/proc/self/mounts");
  for (std::string line; std::getline(in, line);) {
    const std::size_t space = line.find(' ');
    const std::string source = line.substr(0, space);
    if (source.starts_with(node) && space != std::string::npos) {
      return line.substr(space + 1, line.find(' ', space + 1) - space - 1);
    }
  }
  return {};
}

Result<Fd> open_direct(const std::string& path, bool device) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC));
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
    return fail(fmt::format("open {}: {}: reading a block device needs root or group disk", path,
                            ::strerror(error)));
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
    t.mounted_at = t.device ? mount_point_of(device->node) : "";
  }
  if (const auto direct = direct_io_of(path); direct && direct->align > t.block) {
    t.block = direct->align;
  }
  return t;
}

void warn_of_target(const Target& t, std::vector<std::string>& warnings) {
  if (!t.device) {
    warnings.push_back(
        "a file: distance is distance in the file, which is distance on the device only where the "
        "file is contiguous");
  }
  if (t.partition) {
    warnings.push_back(t.node + " is a partition: distances and zones are those of its part of " +
                       t.disk);
  }
}

// What the device read beside our own reads, as far as the kernel's counter tells.
void warn_of_others(const Target& t, const Result<DiskStat>& before,
                    const std::vector<MapRead>& reads, std::vector<std::string>& warnings) {
  const Result<DiskStat> after = t.disk.empty() ? fail("no disk") : disk_stat(t.disk);
  if (!before || !after) {
    return;
  }
  std::uint64_t ours = 0;
  for (const MapRead& r : reads) {
    ours += r.bytes;
  }
  const std::uint64_t all = (after->read_sectors - before->read_sectors) * kSectorBytes;
  // Reads that only place the head are not among `reads`: a tenth is room for them.
  if (all > ours + ours / 10 + (std::uint64_t{64} << 20) / 10) {
    warnings.push_back(fmt::format(
        "{} read {} beside this map's {}{}: others used it, and latencies include theirs", t.disk,
        format_bytes({all - ours}), format_bytes({ours}),
        t.mounted_at.empty() ? "" : " (mounted at " + t.mounted_at + ")"));
  }
}

std::int64_t unix_ns() {
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

LatencyMap empty_map(const MapSettings& settings, const Target& target) {
  LatencyMap map;
  map.device = settings.path;
  map.device_model = model_of(target.disk);
  map.kernel = read_host_facts().kernel;
  map.size = target.size;
  map.rotational = one_line("/sys/block/" + target.disk + "/queue/rotational") == "1";
  map.started_unix_ns = unix_ns();
  map.seed = settings.seed;
  return map;
}

MapSchedule schedule_of(const MapSettings& settings) {
  const std::atomic<bool>* stop = settings.stop;
  MapSchedule schedule;
  schedule.shares = map_shares(settings.parts);
  schedule.time = settings.time;
  schedule.stop = [stop] { return stop != nullptr && stop->load(std::memory_order_relaxed); };
  schedule.on_progress = settings.on_progress;
  return schedule;
}

}  // namespace

Result<MeasuredMap> measure_map(const MapSettings& settings) {
  BLKSWEEP_TRY(Target target, open_target(settings.path));
  BLKSWEEP_TRY(MapPlan plan, MapPlan::make({target.size, target.block, settings.seed}));
  BLKSWEEP_TRY(const auto reader, DeviceReader::open(target, plan.largest_read(), settings.stop));
  MeasuredMap measured;
  measured.disk = target.disk;
  measured.map = empty_map(settings, target);
  warn_of_target(target, measured.warnings);
  const Result<DiskStat> before = target.disk.empty() ? fail("no disk") : disk_stat(target.disk);
  const MapSchedule schedule = schedule_of(settings);
  BLKSWEEP_CHECK(run_map(plan, *reader, schedule, measured.map.reads));
  measured.map.interrupted = schedule.stop();
  if (reader->errors() > 0) {
    measured.warnings.push_back(fmt::format("{} reads failed and are left out, the last: {}",
                                            reader->errors(), reader->last_error()));
  }
  warn_of_others(target, before, measured.map.reads, measured.warnings);
  return measured;
}

}  // namespace blksweep
