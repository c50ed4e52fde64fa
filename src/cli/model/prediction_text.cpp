#include "cli/model/prediction_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/table.h"
#include "stats/quantile.h"

namespace blksweep {
namespace {

Maybe<double> error_of(const SimulatedRun& row) {
  return row.job.run ? Maybe<double>(static_cast<double>(row.prediction.epoch_ns) /
                                         static_cast<double>(row.job.run->run.epoch_ns) -
                                     1)
                     : Maybe<double>();
}

// Unknown where the model takes no time.
Maybe<double> per_second(std::uint64_t amount, double ns) {
  return ns > 0 ? Maybe<double>(static_cast<double>(amount) * 1e9 / ns) : std::nullopt;
}

Json to_json(const SimulatedRun& row, const SimulationWork& work) {
  const Prediction& p = row.prediction;
  const auto& stored = row.job.run;
  const double epoch = static_cast<double>(p.epoch_ns);
  const auto [p50, p99] = latency_percentiles(p);
  return {{"cell", cell_json(work.records[row.job.cell])},
          {"repeat", row.job.repeat},
          {"seed", row.job.seed},
          {"epoch_ns", p.epoch_ns},
          {"first_batch_ns", or_null(p.first_batch_ns)},
          {"samples", p.samples},
          {"bytes", p.bytes},
          {"samples_per_s", or_null(per_second(p.samples, epoch))},
          {"bytes_per_s", or_null(per_second(p.bytes, epoch))},
          {"reads", p.reads},
          {"read_bytes", p.read_bytes},
          {"requests", p.device.requests},
          {"request_bytes", p.device.bytes},
          {"depth_mean", or_null(p.depth_mean())},
          {"request_latency_ns", {{"p50", or_null(p50)}, {"p99", or_null(p99)}}},
          {"seeks", p.device.seeks},
          {"mean_seek_bytes", p.device.seeks > 0
                                  ? Json(p.device.seek_bytes / static_cast<double>(p.device.seeks))
                                  : Json(nullptr)},
          {"unknown_bytes", p.unknown_bytes},
          {"utilisation", or_null(p.utilisation)},
          {"shuffle_quality", quality_json(row.quality)},
          {"run", stored ? Json(stored->id) : Json(nullptr)},
          {"measured_epoch_ns", stored ? Json(stored->run.epoch_ns) : Json(nullptr)},
          {"error", or_null(error_of(row))}};
}

// Medians over the rows of one cell.
struct CellMedians {
  std::size_t n = 0;
  double epoch = 0, requests = 0, depth = -1, busy = -1, measured = 0, error = 0;
  double least_error = 0, greatest_error = 0;
  Maybe<double> displacement, label_mix;
  std::uint64_t samples = 0, bytes = 0;

  Maybe<double> samples_per_s() const { return per_second(samples, epoch); }
};

Maybe<double> known(double x) { return x < 0 ? Maybe<double>() : x; }

CellMedians medians_of(const std::vector<SimulatedRun>& rows, std::size_t cell) {
  std::vector<double> epochs, requests, depths, busy, measured, errors, displaced, mixed;
  CellMedians m;
  for (const SimulatedRun& row : rows) {
    if (row.job.cell != cell) {
      continue;
    }
    const Prediction& p = row.prediction;
    epochs.push_back(static_cast<double>(p.epoch_ns));
    requests.push_back(static_cast<double>(p.device.requests));
    depths.push_back(p.depth_mean().value_or(-1));
    busy.push_back(p.utilisation.value_or(-1));
    if (row.job.run) {
      measured.push_back(static_cast<double>(row.job.run->run.epoch_ns));
      errors.push_back(*error_of(row));
    }
    displaced.push_back(row.quality.displacement.value_or(-1));
    mixed.push_back(row.quality.label_mix.value_or(-1));
    m.samples = p.samples;
    m.bytes = p.bytes;
  }
  m.n = epochs.size();
  if (m.n > 0) {
    m.epoch = median(epochs);
    m.requests = median(requests);
    m.depth = median(depths);
    m.busy = median(busy);
    m.displacement = known(median(displaced));
    m.label_mix = known(median(mixed));
  }
  if (!errors.empty()) {
    m.measured = median(measured);
    m.error = median(errors);
    m.least_error = *std::ranges::min_element(errors);
    m.greatest_error = *std::ranges::max_element(errors);
  }
  return m;
}

std::string duration(double ns) { return format_duration(Nanos{static_cast<Nanos::rep>(ns)}); }
std::string percent(double x) { return fmt::format("{:+.1f} %", 100 * x); }
std::string digits(const Maybe<double>& x, int places) {
  return x ? fmt::format("{:.{}f}", *x, places) : "-";
}

// `first`: samples/s that the ratio is to. Of epochs it would be another where cells have several.
std::vector<std::string> table_row(const CellMedians& m, const Maybe<double>& first,
                                   bool measured) {
  const Maybe<double> speed = m.samples_per_s(), bytes = per_second(m.bytes, m.epoch);
  std::vector<std::string> row{
      std::to_string(m.n),
      duration(m.epoch),
      speed ? format_rounded(*speed) : "-",
      digits(bytes ? Maybe<double>(*bytes / (1 << 20)) : bytes, 1),
      digits(speed && first.value_or(0) > 0 ? Maybe<double>(*speed / *first) : std::nullopt, 2),
      format_count(static_cast<std::uint64_t>(m.requests)),
      digits(known(m.depth), 1),
      m.busy >= 0 ? fmt::format("{:.0f} %", 100 * m.busy) : "-",
      digits(m.displacement, 2),
      digits(m.label_mix, 2)};
  if (measured) {
    row.push_back(duration(m.measured));
    row.push_back(percent(m.error));
    row.push_back(m.n > 1 ? percent(m.least_error) + " .. " + percent(m.greatest_error) : "-");
  }
  return row;
}

// Null where runs of several disks are predicted with the speed of each.
Json speedup_of_all(const SimulationWork& work) {
  const double first = work.jobs.front().speedup;
  const bool same = std::ranges::all_of(
      work.jobs, [first](const SimulationJob& j) { return j.speedup == first; });
  return same ? Json(first) : Json(nullptr);
}

}  // namespace

Json simulation_json(const SimulationAnswer& answer, const SimulationWork& work,
                     const SimulationFacts& facts) {
  Json document = {{"catalog", facts.catalog},
                   {"model", facts.how.model.name},
                   {"model_hash", model_hash(facts.how.model)},
                   {"size", facts.how.size.n},
                   {"speedup", speedup_of_all(work)},
                   {"host_cost_ns", facts.how.host_cost.count()},
                   {"notes", answer.notes},
                   {"predictions", Json::array()}};
  for (const SimulatedRun& row : answer.rows) {
    document["predictions"].push_back(to_json(row, work));
  }
  return document;
}

std::string simulation_text(const SimulationAnswer& answer, const SimulationWork& work) {
  const bool measured = answer.rows.front().job.run.has_value();
  Table table;
  table.column("cell", Table::Align::left);
  for (const char* title : {"n", "predicted", "samples/s", "MiB/s", "ratio", "requests",
                            "mean depth", "utilisation", "displacement", "label mix"}) {
    table.column(title);
  }
  for (const char* title : {"measured", "prediction error", "least..greatest"}) {
    if (measured) {
      table.column(title);
    }
  }
  Maybe<double> first;
  for (std::size_t c = 0; c < work.cells.size(); ++c) {
    const CellMedians m = medians_of(answer.rows, c);
    if (m.n > 0) {
      first = first ? first : m.samples_per_s();
      std::vector<std::string> row = table_row(m, first, measured);
      row.insert(row.begin(), work.labels[c]);
      table.row(std::move(row));
    }
  }
  std::string out = table.text();
  for (const std::string& text : answer.notes) {
    out += "note: " + text + '\n';
  }
  return out;
}

}  // namespace blksweep
