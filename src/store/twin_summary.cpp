#include "store/twin_summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "stats/quantile.h"

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

// One kind of twin, over all runs.
struct Side {
  std::vector<double> ratio, ours, fio;
  void add(const RunRecord& run, const FioRecord& twin) {
    if (twin.ratio) {
      ratio.push_back(*twin.ratio);
    }
    if (run.device_reads && twin.requests) {
      ours.push_back(static_cast<double>(*run.device_reads));
      fio.push_back(static_cast<double>(*twin.requests));
    }
  }
};

std::string whole(double x) { return format_count(static_cast<std::uint64_t>(std::llround(x))); }

}  // namespace

bool TwinSummary::same_requests() const {
  return requests && twin_requests &&
         std::abs(*requests - *twin_requests) <=
             kSameRequests * std::max(*requests, *twin_requests);
}

TwinSummary twin_summary(std::span<const StoredRun* const> runs) {
  TwinSummary s;
  Side grouped, plain;
  for (const StoredRun* r : runs) {
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
  s.ratio = known_median(grouped.ratio);
  s.requests = known_median(grouped.ours);
  s.twin_requests = known_median(grouped.fio);
  s.plain_ratio = known_median(plain.ratio);
  s.requests_beside_plain = known_median(plain.ours);
  s.plain_requests = known_median(plain.fio);
  return s;
}

std::string requests_text(const TwinSummary& twins) {
  return twins.requests && twins.twin_requests
             ? fmt::format("{} / {}", whole(*twins.requests), whole(*twins.twin_requests))
             : "-";
}

std::string twin_notes(const std::string& label, const TwinSummary& twins) {
  std::string out;
  if (twins.ratio && twins.requests && !twins.same_requests()) {
    out += fmt::format(
        "{}: of the ratio to fio, {:.2f}, a part may be merging: {} requests at the device, fio's "
        "{} ({})\n",
        label, *twins.ratio, whole(*twins.requests), whole(*twins.twin_requests),
        fmt::join(twins.not_the_same, "; "));
  }
  if (twins.ratio && twins.plain_ratio && twins.plain_requests) {
    out += fmt::format(
        "{}: {:.2f} times plain fio, {:.2f} of it by groups and merging: {} requests at the device "
        "against {}\n",
        label, *twins.plain_ratio, *twins.plain_ratio / *twins.ratio,
        whole(*twins.requests_beside_plain), whole(*twins.plain_requests));
  }
  for (const std::string& reason : twins.no_ratio) {
    out += fmt::format("{}: no ratio to fio: {}\n", label, reason);
  }
  return out;
}

}  // namespace blksweep
