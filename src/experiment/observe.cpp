#include "experiment/observe.h"

#include <fmt/format.h>

#include <algorithm>

#include "experiment/cold_proof.h"
#include "os/own_reads.h"
#include "stage/cuda/cuda_stage.h"
#include "stats/shuffle_quality.h"

namespace blksweep {
namespace {

constexpr std::chrono::milliseconds kGpuPeriod{20};
constexpr double kHealedShare = 0.01;

ProbeRecord to_record(ProbeReport&& p) {
  ProbeRecord r;
  r.requests = p.requests;
  r.bytes = p.bytes;
  r.plug_merges = p.plug_merges;
  r.scheduler_merges = p.scheduler_merges;
  r.requeues = p.requeues;
  r.healed = p.healed;
  r.healed_ns = p.healed_ns;
  r.lost_events = p.lost_events;
  r.depth_mean = p.depth_mean;
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
    r.issues.push_back({i.at_ns, i.sector, i.bytes});
  }
  return r;
}

// Batch boundaries up to `samples` emissions; failed samples make a batch shorter than planned,
// which moves later boundaries by as much: negligible for a mean over batches, and such a run is
// incomplete.
std::vector<std::uint32_t> batches_within(const Schedule& schedule, std::size_t samples) {
  std::vector<std::uint32_t> out;
  for (const std::uint32_t begin : schedule.batch_begin) {
    if (begin < samples) {
      out.push_back(begin);
    }
  }
  out.push_back(static_cast<std::uint32_t>(samples));
  return out;
}

// The sequence that this cell would emit every epoch if nothing were drawn at random: its own order
// where that is fixed, else the order on the device.
std::vector<std::uint32_t> reference_rank(const Catalog& catalog, Order order) {
  const bool drawn = order == Order::random || order == Order::chunked;
  OrderSettings settings;
  settings.order = drawn ? Order::lba : order;
  const std::vector<std::uint32_t> fixed = make_order(catalog, settings);
  std::vector<std::uint32_t> rank(fixed.size());
  for (std::uint32_t r = 0; r < fixed.size(); ++r) {
    rank[fixed[r]] = r;
  }
  return rank;
}

}  // namespace

void Observation::start() {
  if (gpu_) {
    auto sampler = GpuSampler::start(cuda_pci_address(*gpu_), kGpuPeriod);
    if (sampler) {
      sampler_ = *std::move(sampler);
    } else {
      not_sampled_ = sampler.error();
    }
  }
  if (probe_ != nullptr) {
    if (const Result<> started = probe_->start(); !started) {
      refused_ = started.error();
    }
  }
  if (device_) {
    if (const auto stat = counting_stat(device_->disk)) {
      before_ = *stat;
    } else {
      not_counted_ = stat.error().message();
    }
  }
  own_before_ = reads_itself_ ? own_read_bytes() : std::nullopt;
}

void Observation::stop_sampler(RunRecord& record) {
  if (not_sampled_) {
    record.warnings.push_back(not_sampled_->message());
  }
  if (sampler_) {
    for (const GpuSample& s : sampler_->stop()) {
      record.gpu.push_back(
          {s.at_ns, s.utilisation, s.memory_utilisation, s.memory_used_bytes, s.clock_mhz});
    }
  }
}

void Observation::count_disk(RunRecord& record) const {
  if (!device_) {
    return;
  }
  const Result<DiskStat> after =
      before_ ? counting_stat(device_->disk) : Result<DiskStat>(fail(not_counted_));
  if (!after) {
    record.warnings.push_back(fmt::format("what {} read is not known, nor who else used it: {}",
                                          device_->disk, after.error().message()));
    return;
  }
  record.device_bytes = (after->read_sectors - before_->read_sectors) * kSectorBytes;
  record.device_reads = after->reads - before_->reads;
  std::string text = writes_warning(
      device_->disk, {.own_bytes = *record.device_bytes,
                      .other_bytes = (after->write_sectors - before_->write_sectors) * kSectorBytes,
                      .other_requests = after->writes - before_->writes,
                      .reads = *record.device_reads});
  if (!text.empty()) {
    record.warnings.push_back(std::move(text));
  }
}

void Observation::count_bytes(RunRecord& record) const {
  if (const auto own = own_before_ ? own_read_bytes() : std::nullopt) {
    record.own_read_bytes = *own - *own_before_;
  }
  count_disk(record);
  record.others_read_bytes = others_read(record.device_bytes, record.own_read_bytes);
  if (record.device_bytes && record.own_read_bytes && !record.others_read_bytes) {
    record.warnings.push_back(fmt::format(
        "this process read {}, and {} of it from {}: the data is on other disks, too, and who else "
        "read is not known",
        format_bytes({*record.own_read_bytes}), format_bytes({*record.device_bytes}),
        device_->disk));
  }
}

void Observation::stop(RunRecord& record) {
  stop_sampler(record);
  count_bytes(record);
  if (probe_ == nullptr) {
    return;
  }
  if (refused_) {
    record.warnings.push_back("no probe in this run: " + refused_->message());
    return;
  }
  auto report = probe_->stop();
  if (!report) {
    record.warnings.push_back("no probe in this run: " + report.error().message());
    return;
  }
  record.warnings.insert(record.warnings.end(), report->warnings.begin(), report->warnings.end());
  record.probe = to_record(*std::move(report));
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

QualityRecord quality_of(const Catalog& catalog, Order order, const PlannedEpoch& planned,
                         std::span<const std::uint32_t> emitted) {
  const std::size_t one_epoch = catalog.samples();
  const std::span<const std::uint32_t> first = emitted.first(std::min(one_epoch, emitted.size()));
  std::vector<std::uint32_t> labels(one_epoch);
  for (std::uint32_t s = 0; s < one_epoch; ++s) {
    labels[s] = catalog.sample(s).label;
  }
  const std::vector<std::uint32_t> batches = batches_within(planned.schedule, first.size());
  const std::vector<std::uint32_t> rank = reference_rank(catalog, order);
  const ShuffleQuality q = shuffle_quality(
      {.samples = first,
       .batch_begin = batches,
       .rank = rank,
       .label = catalog.label_end.empty() ? std::span<const std::uint32_t>{} : labels,
       .read_order = std::span(planned.plan.order).first(first.empty() ? 0 : one_epoch)});
  return {q.displacement, q.spearman, q.neighbours, q.label_mix, q.spearman_vs_read};
}

}  // namespace blksweep
