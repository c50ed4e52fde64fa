#include "experiment/observe.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>

#include "disk/modelled.h"
#include "experiment/proof/cold_proof.h"
#include "experiment/proof/incomplete.h"
#include "experiment/proof/judge_caches.h"
#include "experiment/record/cache_record.h"
#include "experiment/record/gpu_record.h"
#include "node/cache/cache.h"
#include "node/queue.h"
#include "os/block/disk_use.h"
#include "os/block/own_reads.h"
#include "os/noise.h"
#include "os/process/standstill.h"
#include "probe/probe_math.h"
#include "stage/cuda/cuda_stage.h"
#include "stage/cuda/gpu_sampler.h"

namespace blksweep {
namespace {

constexpr std::chrono::milliseconds kGpuPeriod{20};
constexpr double kHealedShare = 0.01;
constexpr const char* kThinned =
    "more reads than the log of the block layer takes: their order above the driver is not known";

IssuePoint to_point(const ProbeIssue& i) {
  return {i.at_ns, i.sector, i.bytes, i.latency_ns, std::nullopt, std::nullopt, i.origin};
}

ProbeRecord to_record(ProbeReport&& p) {
  ProbeRecord r;
  r.requests = p.requests;
  r.bytes = p.bytes;
  r.plug_merges = p.plug_merges;
  r.scheduler_merges = p.scheduler_merges;
  r.requeues = p.requeues;
  r.splits = p.splits;
  r.punted = p.punted;
  r.healed = p.healed;
  r.healed_ns = p.healed_ns;
  r.lost_events = p.lost_events;
  r.depth_mean = p.depth_mean;
  r.origins = p.origins;
  r.makers = p.makers;
  r.self = p.self;
  r.others = p.others;
  r.stat_difference = p.stat_difference;
  r.depth = std::move(p.depth);
  r.request_bytes = std::move(p.request_bytes);
  r.latency_ns = std::move(p.latency_ns);
  r.series.reserve(p.series.size());
  for (const ProbeSample& s : p.series) {
    r.series.push_back({s.at_ns, s.driver_depth, s.scheduler_depth});
  }
  r.issues.reserve(p.issues.size());
  for (const ProbeIssue& i : p.issues) {
    r.issues.push_back(to_point(i));
  }
  if (p.passed_left_out == 0) {
    std::ranges::transform(p.queued, std::back_inserter(r.queued), to_point);
    std::ranges::transform(p.inserted, std::back_inserter(r.inserted), to_point);
  }
  return r;
}

class ResidencyObserver : public Observer {
 public:
  explicit ResidencyObserver(const Catalog& catalog) : catalog_(catalog) {}
  Result<> end(RunRecord& record) override {
    record.resident_after = known_share(measure(catalog_));
    return {};
  }

 private:
  const Catalog& catalog_;
};

class LimitsObserver : public Observer {
 public:
  explicit LimitsObserver(RunNode& node) : node_(node) {}
  Result<> begin() override { return node_.enter(); }
  Result<> end(RunRecord& record) override {
    BLKSWEEP_CHECK(node_.leave());
    node_.record(record);
    return {};
  }

 private:
  RunNode& node_;
};

class ClockObserver : public Observer {
 public:
  Result<> begin() override {
    standstill_.emplace();
    return {};
  }
  Result<> end(RunRecord& record) override {
    if (const std::string held = standstill_->seen(); !held.empty()) {
      mark_incomplete(record, held);
    }
    return {};
  }

 private:
  std::optional<Standstill> standstill_;
};

class GpuObserver : public Observer {
 public:
  GpuObserver(std::uint32_t index, std::string disk) : index_(index), disk_(std::move(disk)) {}
  Result<> begin() override {
    address_ = cuda_address(index_);
    sampler_ = GpuSampler::start(address_, kGpuPeriod);
    return {};
  }
  Result<> end(RunRecord& record) override {
    if (!sampler_) {
      record.warnings.push_back(sampler_.error().message());
      GpuPlace place;
      place.uuid = address_.uuid;
      place.pci = address_.pci;
      record.accelerator = accelerator_record(place, disk_);
      return {};
    }
    for (const GpuSample& s : (*sampler_)->stop()) {
      record.gpu.push_back({s.at_ns, s.utilisation, s.memory_utilisation, s.memory_used_bytes,
                            s.clock_mhz, s.throttle_reasons});
    }
    record.accelerator = accelerator_record((*sampler_)->place(), disk_);
    if (std::string slowed = throttle_warning(record.gpu); !slowed.empty()) {
      record.warnings.push_back(std::move(slowed));
    }
    return {};
  }

 private:
  std::uint32_t index_;
  std::string disk_;
  GpuAddress address_;
  Result<std::unique_ptr<GpuSampler>> sampler_ = nullptr;
};

class ProbeObserver : public Observer {
 public:
  explicit ProbeObserver(BlockProbe& probe) : probe_(probe) {}
  Result<> begin() override {
    started_ = probe_.start();
    return {};
  }
  Result<> end(RunRecord& record) override {
    Result<ProbeReport> report =
        started_ ? probe_.stop() : Result<ProbeReport>(tl::unexpected(started_.error()));
    if (!report) {
      record.warnings.push_back("no probe in this run: " + report.error().message());
      return {};
    }
    record.warnings.insert(record.warnings.end(), report->warnings.begin(), report->warnings.end());
    if (report->passed_left_out > 0) {
      record.warnings.emplace_back(kThinned);
    }
    record.probe = to_record(*std::move(report));
    return {};
  }

 private:
  BlockProbe& probe_;
  Result<> started_;
};

// Ends after ProbeObserver, which says what the block layer saw. Without a probe it is the disk's
// own count, which begins above the scheduler: with one it says nothing of the disk.
class EmulationObserver : public Observer {
 public:
  explicit EmulationObserver(std::string disk) : disk_(std::move(disk)) {}
  Result<> begin() override {
    before_ = modelled_replies(disk_);
    counted_before_ = counting_stat(disk_);
    return {};
  }
  Result<> end(RunRecord& record) override {
    if (!before_) {
      return {};
    }
    const auto probed = record.probe ? latency_mean(record.probe->latency_ns) : std::nullopt;
    std::string text =
        lag_warning(disk_, before_, modelled_replies(disk_), probed ? *probed : counted_mean());
    if (!text.empty()) {
      record.warnings.push_back(std::move(text));
    }
    return {};
  }

 private:
  double counted_mean() const {
    const Result<DiskStat> now = counted_before_ ? counting_stat(disk_) : counted_before_;
    return now && scheduler_of(disk_) == "none" ? counted_mean_ns(*now - *counted_before_) : 0;
  }

  std::string disk_;
  std::optional<ModelledReplies> before_;
  Result<DiskStat> counted_before_ = DiskStat{};
};

class CacheObserver : public Observer {
 public:
  explicit CacheObserver(const RunRequest& q) : q_(q) {}
  Result<> begin() override {
    want_samples(*q_.cache_probe, q_.source.catalog, q_.planned.plan);
    started_ = q_.cache_probe->start();
    return {};
  }
  Result<> end(RunRecord& record) override {
    const Result<CacheReport> report =
        started_ ? q_.cache_probe->stop() : Result<CacheReport>(tl::unexpected(started_.error()));
    if (!report) {
      record.warnings.push_back("no cache probe in this run: " + report.error().message());
      return {};
    }
    record.warnings.insert(record.warnings.end(), report->warnings.begin(), report->warnings.end());
    record.page_cache =
        cache_record(*report,
                     {.by_page_cache = q_.planned.align <= 1 && !reads_device(q_.planned.plan),
                      .by_this_process = q_.reader == nullptr},
                     q_.source.catalog);
    return {};
  }

 private:
  const RunRequest& q_;
  Result<> started_;
};

// Of counters that the kernel has both times.
template <class T>
Maybe<T> grown(const Maybe<T>& before, const Maybe<T>& after) {
  return before && after ? Maybe<T>(*after - *before) : std::nullopt;
}

class NoiseObserver : public Observer {
 public:
  explicit NoiseObserver(const RunRequest& q) : q_(q) {}
  Result<> begin() override {
    before_ = noise_counters();
    return {};
  }
  Result<> end(RunRecord& record) override {
    const NoiseCounters now = noise_counters();
    NoiseRecord& n = record.noise.emplace();
    n.steal_ns = grown(before_.steal_ns, now.steal_ns);
    n.cpu_pressure_ns = grown(before_.cpu_pressure_ns, now.cpu_pressure_ns);
    n.io_pressure_ns = grown(before_.io_pressure_ns, now.io_pressure_ns);
    n.memory_pressure_ns = grown(before_.memory_pressure_ns, now.memory_pressure_ns);
    n.throttled_ns = grown(before_.throttled_ns, now.throttled_ns);
    n.thermal_throttles = grown(before_.thermal_throttles, now.thermal_throttles);
    n.cpu_khz = now.cpu_khz;
    if (grown(before_.cache_drops, now.cache_drops).value_or(0) > 0 && q_.source.device &&
        opens_files(q_.planned.plan)) {
      record.warnings.emplace_back(
          "somebody dropped the caches of this node while it ran (drop_caches): what had left "
          "them, metadata too, was read again");
    }
    return {};
  }

 private:
  const RunRequest& q_;
  NoiseCounters before_;
};

// Ends after ProcessObserver: who else read is what is left of the disk's count.
class DiskObserver : public Observer {
 public:
  explicit DiskObserver(const BlockDevice& device) : device_(device) {}
  Result<> begin() override {
    before_ = counting_stat(device_.disk);
    return {};
  }
  Result<> end(RunRecord& record) override {
    const Result<DiskStat> after = before_ ? counting_stat(device_.disk) : before_;
    if (!after) {
      record.warnings.push_back(fmt::format("what {} read is not known, nor who else used it: {}",
                                            device_.disk, after.error().message()));
      return {};
    }
    record.device_bytes = (after->read_sectors - before_->read_sectors) * kSectorBytes;
    record.device_reads = after->reads - before_->reads;
    warn_of_writes(record, *after);
    record_others(record);
    return {};
  }

 private:
  void warn_of_writes(RunRecord& record, const DiskStat& after) const {
    std::string text =
        writes_warning(device_.disk, writes_beside(after - *before_, *record.device_bytes));
    if (!text.empty()) {
      record.warnings.push_back(std::move(text));
    }
  }

  void record_others(RunRecord& record) const {
    record.others_read_bytes = others_read(record.device_bytes, record.own_read_bytes);
    if (record.own_read_bytes && !record.others_read_bytes) {
      record.warnings.push_back(fmt::format(
          "this process read {}, and {} of it from {}: the data is on other disks, too, and who "
          "else read is not known",
          format_bytes({*record.own_read_bytes}), format_bytes({*record.device_bytes}),
          device_.disk));
    }
  }

  const BlockDevice& device_;
  Result<DiskStat> before_ = DiskStat{};
};

// Of processes that nobody else reads for, so that their own count is true: this one, and a peer
// with all that it started. What has ended is in its parent's count.
class ProcessObserver : public Observer {
 public:
  explicit ProcessObserver(const Conversation* reader) : reader_(reader) {}
  Result<> begin() override {
    before_ = read_so_far();
    return {};
  }
  Result<> end(RunRecord& record) override {
    if (const auto now = before_ ? read_so_far() : std::nullopt) {
      record.own_read_bytes = *now - *before_;
    }
    return {};
  }

 private:
  std::optional<std::uint64_t> read_so_far() const {
    const auto own = own_read_bytes();
    const auto theirs =
        reader_ == nullptr ? std::optional(std::uint64_t{0}) : reader_->use().read_bytes;
    return own && theirs ? std::optional(*own + *theirs) : std::nullopt;
  }

  const Conversation* reader_;
  std::optional<std::uint64_t> before_;
};

}  // namespace

std::vector<std::unique_ptr<Observer>> observers_of(const RunRequest& q) {
  std::vector<std::unique_ptr<Observer>> out;
  out.push_back(std::make_unique<ResidencyObserver>(q.source.catalog));
  out.push_back(std::make_unique<LimitsObserver>(q.node));
  out.push_back(std::make_unique<NoiseObserver>(q));
  out.push_back(std::make_unique<ClockObserver>());
  if (needs_gpu(q.cell)) {
    out.push_back(std::make_unique<GpuObserver>(q.cell.device_index,
                                                q.source.device ? q.source.device->disk : ""));
  }
  if (q.source.device) {
    out.push_back(std::make_unique<EmulationObserver>(q.source.device->disk));
  }
  if (q.probe != nullptr) {
    out.push_back(std::make_unique<ProbeObserver>(*q.probe));
  }
  if (q.cache_probe != nullptr) {
    out.push_back(std::make_unique<CacheObserver>(q));
  }
  if (q.source.device) {
    out.push_back(std::make_unique<DiskObserver>(*q.source.device));
  }
  if (reads_itself(q)) {
    out.push_back(std::make_unique<ProcessObserver>(q.reader));
  }
  return out;
}

void withhold_unsure_depth(RunRecord& run) {
  if (!run.probe || static_cast<double>(run.probe->healed) <=
                        kHealedShare * static_cast<double>(run.probe->requests)) {
    return;
  }
  run.probe->depth_mean.reset();
  run.probe->depth = {};
  run.probe->latency_ns = {};
  run.probe->series.clear();
  run.warnings.push_back(
      fmt::format("{} completions of {} requests never reached the probe: no depth and no device "
                  "latency of this run",
                  format_count(run.probe->healed), format_count(run.probe->requests)));
}

}  // namespace blksweep
