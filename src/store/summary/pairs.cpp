#include "store/summary/pairs.h"

#include <algorithm>
#include <cmath>

#include "store/summary/labels.h"
#include "store/summary/rig_verdict.h"

namespace blksweep {
namespace {

using CellRuns = std::vector<const StoredRun*>;

constexpr double kHalfStepNs = 500'000;  // of fio's clock, which rounds up to milliseconds

void add_twins(std::vector<Series>& out, const std::string& label, const CellRuns& runs) {
  for (const auto& [twin, name] :
       {std::pair{&RunRecord::fio, "fio"}, {&RunRecord::fio_plain, "plain fio"}}) {
    FioRatios ratios;
    bool any = false;
    for (const StoredRun* r : runs) {
      const Maybe<FioRecord>& fio = r->run.*twin;
      any = any || fio.has_value();
      if (fio) {
        ratios.add(*fio);
      }
    }
    if (any) {
      const std::string of = label + ": ours / " + name;
      out.push_back({of, false, ratios.values, {}, ratios.log_bias()});
    }
  }
}

}  // namespace

double clock_bias(const FioRecord& twin) {
  const double half = kHalfStepNs / std::max(static_cast<double>(twin.runtime_ns), kHalfStepNs);
  return twin.runtime_ns > 0 ? -std::log1p(-half) : 0;
}

void FioRatios::add(double ratio, double bias) {
  values.push_back(ratio);
  biases += bias;
}

void FioRatios::add(const FioRecord& twin) {
  if (twin.ratio.value_or(0) > 0) {
    add(*twin.ratio, clock_bias(twin));
  }
}

double FioRatios::log_bias() const {
  return values.empty() ? 0 : biases / static_cast<double>(values.size());
}

double speed_of(const StoredRun& r) {
  return r.run.epoch_ns > 0
             ? static_cast<double>(r.run.samples) * 1e9 / static_cast<double>(r.run.epoch_ns)
             : 0;
}

std::vector<double> speeds_of(const std::vector<const StoredRun*>& runs) {
  std::vector<double> out;
  for (const StoredRun* r : runs) {
    if (r->run.samples > 0) {
      out.push_back(speed_of(*r));
    }
  }
  return out;
}

PairRatios pair_ratios(const CellRuns& runs, const CellRuns& baseline) {
  PairRatios out;
  for (const StoredRun* r : runs) {
    const auto pair = std::ranges::find(baseline, r->run.repeat,
                                        [](const StoredRun* b) { return b->run.repeat; });
    if (pair == baseline.end() || r->run.samples == 0 || (*pair)->run.samples == 0) {
      continue;
    }
    if (r->run.session_id && r->run.session_id == (*pair)->run.session_id) {
      out.ratios.push_back(speed_of(*r) / speed_of(**pair));
    } else {
      ++out.split;
    }
  }
  return out;
}

std::vector<Series> series_of(const SummaryInput& input) {
  if (has_controls(input)) {
    return series_of(without_controls(input));
  }
  std::vector<CellRecord> records;
  std::ranges::transform(input.cells, std::back_inserter(records), &StoredCell::cell);
  const std::vector<std::string> labels = cell_labels(records);
  const std::size_t baseline = baselines_of(input).begin()->second;
  const CellRuns base = counted_runs(input.runs, input.cells[baseline].id);
  std::vector<Series> out;
  for (std::size_t c = 0; c < input.cells.size(); ++c) {
    const CellRuns runs = counted_runs(input.runs, input.cells[c].id);
    if (c != baseline) {
      out.push_back({labels[c], true, pair_ratios(runs, base).ratios, labels[baseline]});
    }
    add_twins(out, labels[c], runs);
  }
  if (out.empty()) {
    out.push_back({labels[baseline] + ": samples/s", false, speeds_of(base)});
  }
  return out;
}

}  // namespace blksweep
