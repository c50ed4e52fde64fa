#include "lab/observe.h"

#include <algorithm>

namespace blksweep {
namespace {

ProbeRecord to_record(ProbeReport&& p) {
  ProbeRecord r;
  r.requests = p.requests;
  r.bytes = p.bytes;
  r.plug_merges = p.plug_merges;
  r.scheduler_merges = p.scheduler_merges;
  r.healed = p.healed;
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

}  // namespace

void Observation::start() {
  if (probe_ != nullptr) {
    if (const Result<> started = probe_->start(); !started) {
      refused_ = started.error();
    }
  }
  if (device_) {
    if (const auto stat = disk_stat(device_->disk)) {
      before_ = *stat;
    }
  }
}

void Observation::stop(RunRecord& record) {
  if (before_) {
    if (const auto after = disk_stat(device_->disk)) {
      record.device_bytes = (after->read_sectors - before_->read_sectors) * kSectorBytes;
      record.device_reads = after->reads - before_->reads;
    }
  }
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

QualityRecord quality_of(const Catalog& /*catalog*/, const PlannedCell& /*planned*/,
                         std::span<const std::uint32_t> /*emitted*/) {
  return {};
}

}  // namespace blksweep
