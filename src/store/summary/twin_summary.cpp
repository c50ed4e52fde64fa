#include "store/summary/twin_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/units.h"
#include "stats/quantile.h"
#include "store/summary/pairs.h"
#include "store/summary/verdicts.h"

namespace blksweep {
namespace {

constexpr double kSameRequests = 0.02;

Maybe<double> known_median(const std::vector<double>& values) {
  return values.empty() ? std::nullopt : Maybe<double>(median(values));
}

void add_new(std::vector<std::string>& all, const std::string& text) {
  if (!text.empty() && std::ranges::find(all, text) == all.end()) {
    all.push_back(text);
  }
}

Maybe<PairedRatio> estimate(const FioRatios& ratios, double error_rate) {
  if (ratios.values.empty()) {
    return std::nullopt;
  }
  return paired_ratio(ratios.values, error_rate, ratios.log_bias());
}

bool close(const Maybe<double>& a, const Maybe<double>& b) {
  return a && b && std::abs(*a - *b) <= kSameRequests * std::max(*a, *b);
}

// One kind of twin, over all runs.
struct Side {
  FioRatios ratio;
  std::vector<double> ours, fio;
  void add(const RunRecord& run, const FioRecord& twin) {
    ratio.add(twin);
    if (run.device_reads && twin.requests) {
      ours.push_back(static_cast<double>(*run.device_reads));
      fio.push_back(static_cast<double>(*twin.requests));
    }
  }
};

// Both twins had a ratio to this run, and so did the same work: only their groups and memory
// differ.
void add_grouping(FioRatios& grouping, const RunRecord& run) {
  if (run.fio && run.fio_plain && run.fio->ratio.value_or(0) > 0 &&
      run.fio_plain->ratio.value_or(0) > 0) {
    grouping.add(*run.fio_plain->ratio / *run.fio->ratio,
                 clock_bias(*run.fio) + clock_bias(*run.fio_plain));
  }
}

// What plain fio's time has in it for its groups alone: said where requests differ and an interval
// shows that times do.
std::string grouping_text(const TwinSummary& t) {
  const std::string requests =
      fmt::format("{} requests at the device one by one, {} in groups",
                  format_rounded(*t.plain_requests), format_rounded(*t.twin_requests));
  if (t.plain_merges_as()) {
    return requests + ", which is the same: none of it is merging";
  }
  if (!t.grouping->interval) {
    return fmt::format("{}; what that makes of it is not shown by {}", requests,
                       t.grouping->pairs < kLeastRounds
                           ? fmt::format("fewer than {} rounds", kLeastRounds)
                           : "runs within one step of fio's clock");
  }
  if (t.grouping->interval->contains(1.0)) {
    return fmt::format("{}; that it makes a difference is not shown: {}", requests,
                       ratio_text(*t.grouping));
  }
  return fmt::format("{} of it by groups and merging: {}", ratio_text(*t.grouping), requests);
}

}  // namespace

bool TwinSummary::same_requests() const { return close(requests, twin_requests); }
bool TwinSummary::plain_merges_as() const { return close(plain_requests, twin_requests); }

TwinSummary twin_summary(std::span<const StoredRun* const> runs, double error_rate) {
  TwinSummary s;
  Side grouped, plain;
  FioRatios grouping;
  for (const StoredRun* r : runs) {
    add_grouping(grouping, r->run);
    if (r->run.fio) {
      grouped.add(r->run, *r->run.fio);
      add_new(s.no_ratio, r->run.fio->ratio_reason);
      add_new(s.not_the_same, r->run.fio->requests_reason);
    }
    if (r->run.fio_plain) {
      plain.add(r->run, *r->run.fio_plain);
      add_new(s.no_ratio, r->run.fio_plain->ratio_reason);
    }
  }
  s.ratio = estimate(grouped.ratio, error_rate);
  s.requests = known_median(grouped.ours);
  s.twin_requests = known_median(grouped.fio);
  s.plain_ratio = estimate(plain.ratio, error_rate);
  s.grouping = estimate(grouping, error_rate);
  s.requests_beside_plain = known_median(plain.ours);
  s.plain_requests = known_median(plain.fio);
  return s;
}

std::string requests_text(const TwinSummary& twins) {
  return twins.requests && twins.twin_requests
             ? fmt::format("{} / {}", format_rounded(*twins.requests),
                           format_rounded(*twins.twin_requests))
             : "-";
}

std::string twin_notes(const std::string& label, const TwinSummary& twins) {
  std::string out;
  if (twins.ratio && twins.ratio->pairs >= kLeastRounds && !twins.ratio->interval) {
    out += fmt::format("{}: no interval of ours / fio: fio took less than one step of its clock\n",
                       label);
  }
  if (twins.ratio && twins.requests && !twins.same_requests()) {
    out += fmt::format(
        "{}: ours / fio {:.2f} is not of the same requests: {} at the device, fio's {} ({})\n",
        label, twins.ratio->value, format_rounded(*twins.requests),
        format_rounded(*twins.twin_requests), joined(twins.not_the_same, "; "));
  }
  if (twins.grouping && twins.plain_requests && twins.twin_requests) {
    out += fmt::format("{}: ours / plain fio {:.2f}, {}\n", label, twins.plain_ratio->value,
                       grouping_text(twins));
  }
  for (const std::string& reason : twins.no_ratio) {
    out += fmt::format("{}: no ratio to fio: {}\n", label, reason);
  }
  return out;
}

}  // namespace blksweep
