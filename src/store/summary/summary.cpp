#include "store/summary/summary.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "stats/quantile.h"
#include "store/summary/ceilings.h"
#include "store/summary/mixed.h"
#include "store/summary/pairs.h"
#include "store/summary/request_notes.h"
#include "store/summary/rig_verdict.h"
#include "store/summary/verdicts.h"

namespace blksweep {
namespace {

constexpr double kFromDevice = 0.9;  // of what is delivered

using Runs = std::vector<const StoredRun*>;

double per_second(std::uint64_t amount, std::int64_t ns) {
  return static_cast<double>(amount) * 1e9 / static_cast<double>(ns);
}
double samples_per_s(const StoredRun& r) { return per_second(r.run.samples, r.run.epoch_ns); }
double bytes_per_s(const StoredRun& r) { return per_second(r.run.bytes, r.run.epoch_ns); }

// The known values of `get` (StoredRun -> Maybe<number>) over the runs.
template <class Get>
std::vector<double> known(const Runs& runs, Get get) {
  std::vector<double> values;
  for (const StoredRun* r : runs) {
    if (const auto value = get(r->run)) {
      values.push_back(static_cast<double>(*value));
    }
  }
  return values;
}

template <class Get>
Maybe<double> known_median(const Runs& runs, Get get) {
  const std::vector<double> values = known(runs, get);
  return values.empty() ? Maybe<double>() : median(values);
}

template <class Get>
auto of_probe(Get get) {
  return [get](const RunRecord& r) {
    return r.probe ? Maybe<double>(get(*r.probe)) : Maybe<double>();
  };
}

template <class Get>
auto of_prediction(Get get) {
  return [get](const RunRecord& r) {
    return r.prediction ? Maybe<double>(get(*r.prediction)) : Maybe<double>();
  };
}

Maybe<double> bytes_read_per_byte(const RunRecord& r) {
  if (!r.device_bytes || r.bytes == 0) {
    return std::nullopt;
  }
  return static_cast<double>(*r.device_bytes) / static_cast<double>(r.bytes);
}

Maybe<double> of_wall(const AccountRecord& a, std::int64_t ns) {
  return a.wall_ns > 0 ? Maybe<double>(static_cast<double>(ns) / static_cast<double>(a.wall_ns))
                       : std::nullopt;
}

// A run that only reads has one lane, of which everything is exposed: that says nothing.
bool has_stages(const RunRecord& r) { return r.account && r.account->lanes.size() > 1; }

Maybe<double> exposed_copy(const RunRecord& r) {
  if (!has_stages(r)) {
    return std::nullopt;
  }
  const auto copy = std::ranges::find(r.account->lanes, "copy", &LaneRecord::lane);
  return copy == r.account->lanes.end() ? std::nullopt : of_wall(*r.account, copy->exposed_ns);
}

Maybe<double> stall(const RunRecord& r, const std::string& cause) {
  const auto& stalls = r.account->lanes.back().stalls;
  const auto found = std::ranges::find(stalls, cause, &std::pair<std::string, std::int64_t>::first);
  return found == stalls.end() ? std::nullopt : of_wall(*r.account, found->second);
}

Maybe<double> stalled(const RunRecord& r) {
  std::int64_t all = 0;
  for (const auto& [cause, ns] : r.account->lanes.back().stalls) {
    all += ns;
  }
  return of_wall(*r.account, all);
}

Maybe<double> copy_cpu_per_part(const RunRecord& r) {
  return r.copy_cost && r.copy_cost->parts > 0
             ? Maybe<double>(static_cast<double>(r.copy_cost->cpu_ns) /
                             static_cast<double>(r.copy_cost->parts))
             : std::nullopt;
}

void add_account(CellSummary& cell, const Runs& all) {
  Runs runs;
  std::ranges::copy_if(all, std::back_inserter(runs), [](auto* r) { return has_stages(r->run); });
  cell.exposed_copy = known_median(runs, exposed_copy);
  cell.copy_cpu_ns_per_part = known_median(runs, copy_cpu_per_part);
  cell.ideal_share =
      known_median(runs, [](auto& r) { return of_wall(*r.account, r.account->ideal_ns); });
  if (runs.empty()) {
    return;
  }
  cell.stalled_lane = runs.front()->run.account->lanes.back().lane;
  cell.stalled = known_median(runs, stalled);
  for (const auto& [cause, ns] : runs.front()->run.account->lanes.back().stalls) {
    const auto share = known_median(runs, [&name = cause](auto& r) { return stall(r, name); });
    if (share.value_or(0) > 0) {
      cell.stalls[cause] = *share;
    }
  }
}

Maybe<double> as_number(const Maybe<std::uint64_t>& n) {
  return n ? Maybe<double>(static_cast<double>(*n)) : std::nullopt;
}
Maybe<double> as_number(std::uint64_t n) { return static_cast<double>(n); }
Maybe<double> as_number(double n) { return n; }

Level level(const std::vector<double>& values) {
  const auto [least, greatest] = std::ranges::minmax(values);
  return {median(values), least, greatest};
}

template <class Get>
Maybe<Level> known_level(const Runs& runs, Get get) {
  const std::vector<double> values = known(runs, get);
  return values.empty() ? Maybe<Level>() : level(values);
}

Maybe<double> quotient(const Maybe<double>& part, const Maybe<double>& whole) {
  return part && whole.value_or(0) > 0 ? Maybe<double>(*part / *whole) : std::nullopt;
}

// Of a run's overlap, as numbers to divide.
template <class T>
auto of_overlap(Maybe<T> OverlapRecord::*field) {
  return [field](const RunRecord& r) {
    return r.overlap && (*r.overlap).*field
               ? Maybe<double>(static_cast<double>(*((*r.overlap).*field)))
               : std::nullopt;
  };
}

void add_overlap(CellSummary& cell, const Runs& runs) {
  const auto ratio = [&runs](auto part, auto whole) {
    return known_level(runs, [&](const RunRecord& r) { return quotient(part(r), whole(r)); });
  };
  const auto transfer = of_overlap(&OverlapRecord::transfer_ns);
  cell.hidden_transfer = ratio(of_overlap(&OverlapRecord::both_ns), transfer);
  cell.exposed_transfer = ratio(of_overlap(&OverlapRecord::exposed_ns), [](const RunRecord& r) {
    return Maybe<double>(static_cast<double>(r.epoch_ns));
  });
  cell.transfer_rate = ratio(of_overlap(&OverlapRecord::bytes),
                             [&](const RunRecord& r) { return quotient(transfer(r), 1e9); });
  cell.fed_gap_ns = ratio(of_overlap(&OverlapRecord::fed_gap_ns), of_overlap(&OverlapRecord::fed));
}

void add_predictions(CellSummary& cell, const Runs& runs) {
  if (!predicted_alike(runs)) {
    return;
  }
  cell.prediction_epoch_ns = known_median(runs, of_prediction([](const PredictionRecord& p) {
                                            return static_cast<double>(p.epoch_ns);
                                          }));
  cell.prediction_error =
      known_median(runs, of_prediction([](const PredictionRecord& p) { return p.error; }));
}

// A field of a layer's order, as a number.
template <class T>
auto of_order(const std::string& layer, T OrderRecord::*field) {
  return [&layer, field](const RunRecord& r) -> Maybe<double> {
    if (!r.probe) {
      return std::nullopt;
    }
    const auto found = std::ranges::find(r.probe->order, layer, &OrderRecord::layer);
    return found == r.probe->order.end() ? std::nullopt : as_number((*found).*field);
  };
}

Maybe<OrderSurvival> order_of(const Runs& runs, const std::string& layer) {
  const auto of = [&](auto field) { return known_median(runs, of_order(layer, field)); };
  const auto count = [&](auto field) { return static_cast<std::uint64_t>(of(field).value_or(0)); };
  if (!of(&OrderRecord::reads)) {
    return std::nullopt;
  }
  OrderSurvival out;
  out.reads = count(&OrderRecord::reads);
  out.kept = of(&OrderRecord::kept).value_or(0);
  out.tau = of(&OrderRecord::tau).value_or(0);
  out.reversed = of(&OrderRecord::reversed).value_or(0);
  if (of(&OrderRecord::reversed_run)) {
    out.reversed_run = count(&OrderRecord::reversed_run);
  }
  if (of(&OrderRecord::batches)) {
    out.batches =
        SubmissionOrder{count(&OrderRecord::batches), count(&OrderRecord::batches_reversed)};
  }
  return out;
}

void add_medians(CellSummary& cell, const Runs& runs) {
  cell.read_for = read_for(runs);
  cell.page_cache = page_cache_text(runs);
  for (const std::string layer : {"queue", "insert", "issue", "complete"}) {
    if (const auto order = order_of(runs, layer)) {
      cell.order.emplace_back(layer, *order);
    }
  }
  cell.first_batch_ns = known_median(runs, [](auto& r) { return r.first_batch_ns; });
  cell.depth_mean =
      known_median(runs, [](auto& r) { return r.probe ? r.probe->depth_mean : Maybe<double>(); });
  cell.requests_issued = known_median(
      runs, of_probe([](const ProbeRecord& p) { return static_cast<double>(p.requests); }));
  cell.read_amplification = known_median(runs, bytes_read_per_byte);
  cell.cpu_ns_per_sample = known_median(runs, [](const RunRecord& r) {
    return r.samples == 0 ? Maybe<double>()
                          : static_cast<double>(r.cpu_ns) / static_cast<double>(r.samples);
  });
  cell.utilisation = known_median(runs, [](auto& r) { return r.utilisation; });
  add_predictions(cell, runs);
  cell.mixed = mixed_in(runs);
  cell.resident_before = known_median(runs, [](auto& r) { return r.resident_before; });
  if (setting_of(cell.cell, "merge") == "device" ||
      setting_of(cell.cell, "merge-asked") == "device") {
    cell.device_fallbacks =
        known_median(runs, [](const RunRecord& r) { return r.device_fallbacks; });
  }
  QualityRecord& q = cell.quality;
  q.displacement = known_median(runs, [](auto& r) { return r.quality.displacement; });
  q.rank_decorrelation = known_median(runs, [](auto& r) { return r.quality.rank_decorrelation; });
  q.neighbours_broken = known_median(runs, [](auto& r) { return r.quality.neighbours_broken; });
  q.label_mix = known_median(runs, [](auto& r) { return r.quality.label_mix; });
  q.rank_decorrelation_vs_read =
      known_median(runs, [](auto& r) { return r.quality.rank_decorrelation_vs_read; });
}

template <class Get>
std::vector<double> each(const Runs& runs, Get get) {
  std::vector<double> values;
  std::ranges::transform(runs, std::back_inserter(values), [&](auto* r) { return get(*r); });
  return values;
}

// What the page cache gave is not held against what the device can give.
bool from_device(const Runs& runs, const std::vector<CeilingRecord>& ceilings) {
  const Maybe<double> read = known_median(runs, [](auto& r) -> Maybe<double> {
    return r.device_bytes ? Maybe<double>(static_cast<double>(*r.device_bytes)) : std::nullopt;
  });
  const Maybe<double> worth = ceiling_figures(ceilings).front().samples_per_byte;
  const double delivered =
      median(each(runs, [](auto& r) { return static_cast<double>(r.run.bytes); }));
  return !read || *read * worth.value_or(1) >= kFromDevice * delivered;
}

void add_throughput(CellSummary& cell, const Runs& runs, const std::vector<CeilingRecord>& ceilings,
                    double error_rate) {
  if (runs.empty()) {
    return;
  }
  cell.samples_per_s = level(each(runs, samples_per_s));
  cell.bytes_per_s = level(each(runs, bytes_per_s));
  cell.twins = twin_summary(runs, error_rate);
  cell.peer_reads = runs.back()->run.peer_reads.value_or("");
  cell.decode_wait = known_median(runs, [](auto& r) { return r.decode.wait; });
  const Maybe<double> ceiling = sequential_ceiling(ceilings);
  if (ceiling && from_device(runs, ceilings)) {
    cell.ceiling_share = cell.bytes_per_s->median / *ceiling;
  }
}

void add_ratio(CellSummary& cell, const Runs& runs, const Runs& baseline, double error_rate) {
  const PairRatios pairs = pair_ratios(runs, baseline);
  cell.split = pairs.split;
  if (!pairs.ratios.empty()) {
    cell.ratio = paired_ratio(pairs.ratios, error_rate);
  }
}

std::string disk_of(const StoredCell& cell) { return setting_of(cell.cell, "disk"); }

std::vector<CeilingRecord> ceilings_of(const SummaryInput& input, const std::string& disk) {
  const auto found = input.ceilings.find(disk);
  return found == input.ceilings.end() ? std::vector<CeilingRecord>() : found->second;
}

void add_left_out(CellSummary& cell, const std::vector<StoredRun>& runs) {
  for (const StoredRun& r : runs) {
    if (r.cell_id == cell.cell_id && r.run.incomplete) {
      ++cell.incomplete;
      auto& reasons = cell.incomplete_reasons;
      if (std::ranges::find(reasons, r.run.incomplete_reason) == reasons.end()) {
        reasons.push_back(r.run.incomplete_reason);
      }
    }
  }
}

}  // namespace

CellFilter usual_baseline() { return {{"order", "random"}, {"merge", "none"}}; }

std::map<std::string, std::size_t> baselines_of(const SummaryInput& input) {
  const CellFilter wanted = input.baseline.empty() ? usual_baseline() : input.baseline;
  std::map<std::string, std::size_t> first, found, shown;
  for (std::size_t i = 0; i < input.cells.size(); ++i) {
    first.emplace(disk_of(input.cells[i]), i);
    if (matches(input.cells[i].cell, wanted)) {
      auto& chosen = matches(input.cells[i].cell, input.shown) ? shown : found;
      chosen.emplace(disk_of(input.cells[i]), i);
    }
  }
  shown.merge(found);
  shown.merge(first);
  return shown;
}

std::vector<const StoredRun*> counted_runs(const std::vector<StoredRun>& runs, std::int64_t cell) {
  std::map<std::uint32_t, const StoredRun*> newest;
  for (const StoredRun& r : runs) {
    if (r.cell_id == cell && !r.run.incomplete && r.run.epoch_ns > 0) {
      newest[r.run.repeat] = &r;
    }
  }
  Runs counted;
  for (const auto& [repeat, run] : newest) {
    counted.push_back(run);
  }
  return counted;
}

std::vector<CellSummary> summarize(const SummaryInput& input) {
  if (has_controls(input)) {
    return summarize(without_controls(input));
  }
  std::vector<CellRecord> records;
  for (const StoredCell& c : input.cells) {
    records.push_back(c.cell);
  }
  const std::vector<std::string> labels = cell_labels(records);
  const std::map<std::string, std::size_t> baselines = baselines_of(input);
  std::vector<CellSummary> out;
  for (std::size_t i = 0; i < input.cells.size(); ++i) {
    CellSummary& cell = out.emplace_back();
    cell.cell_id = input.cells[i].id;
    cell.label = printable(labels[i]);  // of a database that may be somebody else's
    cell.cell = records[i];
    const std::string disk = disk_of(input.cells[i]);
    const std::size_t baseline = baselines.at(disk);
    const double error_rate = error_rate_of(input, disk);
    cell.baseline = i == baseline;
    const Runs runs = counted_runs(input.runs, cell.cell_id);
    cell.runs = runs.size();
    add_left_out(cell, input.runs);
    add_throughput(cell, runs, ceilings_of(input, disk), error_rate);
    add_medians(cell, runs);
    add_account(cell, runs);
    add_overlap(cell, runs);
    if (i != baseline) {
      add_ratio(cell, runs, counted_runs(input.runs, input.cells[baseline].id), error_rate);
      cell.ratio_to = cell.ratio ? printable(labels[baseline]) : "";
    }
  }
  add_verdicts(out, input);
  return out;
}

}  // namespace blksweep
