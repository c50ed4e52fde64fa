#include "replay/certificate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/units.h"
#include "stats/quantile.h"

namespace blksweep {
namespace {

double share_above(const LogHistogram& h, std::int64_t bound) {
  std::uint64_t all = 0, above = 0;
  for (const auto& [lower, count] : h.buckets()) {
    all += count;
    above += lower >= static_cast<std::uint64_t>(bound) ? count : 0;
  }
  return all == 0 ? 0 : static_cast<double>(above) / static_cast<double>(all);
}

std::optional<double> rate_error(const std::vector<RateStep>& steps) {
  double off = 0, due = 0;
  for (const RateStep& s : steps) {
    off += std::abs(static_cast<double>(s.issued) - s.due);
    due += s.due;
  }
  return due == 0 ? std::nullopt : std::optional(off / due);
}

double peak_rate(const std::vector<RateStep>& steps) {
  std::uint32_t most = 0;
  for (const RateStep& s : steps) {
    most = std::max(most, s.issued);
  }
  return static_cast<double>(most) * 1e9 / static_cast<double>(kRateWindow);
}

}  // namespace

LateQuantiles quantiles_of(const LogHistogram& h, std::int64_t greatest) {
  const auto buckets = h.buckets();
  const auto at = [&](double share) {
    return static_cast<std::int64_t>(bucket_percentile(buckets, share));
  };
  return {at(0.5), at(0.99), at(0.999), greatest};
}

std::string_view to_string(Verdict verdict) {
  return verdict == Verdict::faithful    ? "faithful"
         : verdict == Verdict::held_back ? "held_back"
                                         : "unfaithful";
}

void ReplayRecord::count_rate(std::int64_t at_ns, std::uint32_t RateStep::*counter) {
  const auto window = static_cast<std::size_t>(std::max<std::int64_t>(0, at_ns) / kRateWindow);
  if (window >= rate_.size()) {
    rate_.resize(window + 1);
  }
  ++(rate_[window].*counter);
}

void ReplayRecord::issued(const ReplayRequest& request, const Issue& at) {
  const std::int64_t late = std::max<std::int64_t>(0, at.issued_ns - at.due_ns);
  const std::int64_t held = std::clamp<std::int64_t>(at.room_ns - at.due_ns, 0, late);
  const auto add = [](LogHistogram& h, std::int64_t& worst, std::int64_t ns) {
    h.add(static_cast<std::uint64_t>(ns));
    worst = std::max(worst, ns);
  };
  add(late_, worst_late_, late);
  add(device_, worst_device_, held);
  add(tool_, worst_tool_, late - held);
  tool_sum_ += static_cast<double>(late - held);
  if (timed_) {
    count_rate(at.due_ns, &RateStep::due);
  }
  count_rate(at.issued_ns, &RateStep::issued);
  if (issued_ > 0) {
    const std::int64_t wanted = request.recorded_ns - last_recorded_ns_;
    gap_sum_ += static_cast<double>(std::abs(wanted));
    gap_error_sum_ += static_cast<double>(std::abs(at.issued_ns - last_issued_ns_ - wanted));
  }
  last_recorded_ns_ = request.recorded_ns;
  last_issued_ns_ = at.issued_ns;
  out_of_order_ += request.number < next_number_ ? 1U : 0U;
  next_number_ = std::max(next_number_, request.number + 1);
  ++issued_;
}

void ReplayRecord::completed(const ReplayRequest& request, const Completion& done) {
  latency_.add(static_cast<std::uint64_t>(done.latency_ns));
  latency_sum_ += static_cast<double>(done.latency_ns);
  bytes_ += done.bytes;
  writes_ += request.write ? 1U : 0U;
  end_ns_ = std::max(end_ns_, done.now_ns);
  if (request.latency_ns != kNotTold) {
    ++told_;
    recorded_latency_.add(static_cast<std::uint64_t>(request.latency_ns));
    recorded_latency_sum_ += static_cast<double>(request.latency_ns);
    told_latency_sum_ += static_cast<double>(done.latency_ns);
    const double begin = static_cast<double>(request.recorded_ns) * speed_;
    recorded_end_ns_ = std::max(recorded_end_ns_, begin + static_cast<double>(request.latency_ns));
  }
}

Certificate ReplayRecord::certify(const Circumstances& circumstances) const {
  Certificate c;
  c.bound_ns = std::max(kLateBound, circumstances.quantum_ns);
  c.lateness = quantiles_of(late_, worst_late_);
  c.tool = quantiles_of(tool_, worst_tool_);
  c.device = quantiles_of(device_, worst_device_);
  c.issued = issued_;
  c.failed = failed_;
  c.out_of_order = out_of_order_;
  c.rate_error = timed_ ? rate_error(rate_) : std::nullopt;
  c.length_ns = end_ns_;
  c.depth_mean = end_ns_ > 0 ? latency_sum_ / static_cast<double>(end_ns_) : 0;
  if (timed_ && gap_sum_ > 0) {
    c.gap_error = gap_error_sum_ / gap_sum_;
  }
  if (told_ > 0 && told_ == issued_ && recorded_latency_sum_ > 0) {
    c.latency_error = told_latency_sum_ / recorded_latency_sum_ - 1;
    c.recorded_depth_mean = recorded_latency_sum_ / std::max(1.0, recorded_end_ns_);
    c.depth_error = c.depth_mean / *c.recorded_depth_mean - 1;
  }
  if (!timed_ && issued_ > 0 && end_ns_ > 0) {
    const auto slots = static_cast<double>(std::min<std::uint64_t>(issued_, circumstances.depth));
    c.free_share = tool_sum_ / (slots * static_cast<double>(end_ns_));
  }
  c.stalled_ns = circumstances.stalled_ns;
  c.own_rate = circumstances.own_rate;
  c.peak_rate = peak_rate(rate_);
  judge(c, circumstances);
  return c;
}

// The tool's fault is looked for first: what it did late may have filled the queue.
void ReplayRecord::judge(Certificate& c, const Circumstances& circumstances) const {
  const double tool = share_above(tool_, c.bound_ns);
  const double device = share_above(device_, c.bound_ns);
  const double stalled =
      c.length_ns > 0 ? static_cast<double>(c.stalled_ns) / static_cast<double>(c.length_ns) : 0;
  const std::string bound = format_duration(Nanos(c.bound_ns));
  const WaysOut& ways = circumstances.ways;
  const auto blame = [&c](std::string reason, const std::string& way) {
    c.reasons.push_back(with_way(std::move(reason), way));
  };
  if (tool > kLateShare) {
    blame(fmt::format("the tool issued {:.1f} % of the requests more than {} late", 100 * tool,
                      bound),
          ways.late);
  }
  if (stalled > kStalledShare) {
    blame(fmt::format("the tool stood still for {:.1f} % of the time", 100 * stalled),
          ways.stalled);
  }
  if (!circumstances.stood_still.empty()) {
    blame(circumstances.stood_still, ways.stopped);
  }
  if (c.free_share.value_or(0) > kFreeShare) {
    blame(fmt::format("the tool set the pace, not the device: places in its queue were free for "
                      "{:.0f} % of the time although requests waited",
                      100 * *c.free_share),
          ways.pace);
  }
  if (c.own_rate > 0 && c.peak_rate > c.own_rate / 2) {
    blame(
        fmt::format("{:.0f} requests/s are more than half of what the tool can issue here ({:.0f})",
                    c.peak_rate, c.own_rate),
        slower(ways, c.peak_rate, c.own_rate));
  }
  const std::uint64_t missing = circumstances.misplaced + circumstances.short_reads + c.failed;
  const std::uint64_t all = circumstances.misplaced + c.issued;
  if (static_cast<double>(missing) > kMissingShare * static_cast<double>(all)) {
    blame(fmt::format("{} of {} reads have no place on the target, failed, or gave too little",
                      format_count(missing), format_count(all)),
          ways.missing);
  }
  if (!c.reasons.empty()) {
    return;
  }
  c.verdict = device > kLateShare ? Verdict::held_back : Verdict::faithful;
  if (c.verdict == Verdict::held_back) {
    c.reasons.push_back(
        fmt::format("the device's queue was full when {:.1f} % of the requests were due, for more "
                    "than {}",
                    100 * device, bound));
  }
}

}  // namespace blksweep
