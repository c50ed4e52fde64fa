#include "store/export/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.h"
#include "store/schema/run_columns.h"
#include "store/summary/verdicts.h"

namespace blksweep {
namespace {

// A line under construction. The heading is made by the same calls as the lines, so that names and
// values cannot drift apart.
struct Line {
  bool heading = false;
  std::string prefix;  // before each name
  std::string text;

  void field(std::string_view raw) {
    text += text.empty() ? "" : ",";
    text += csv_field(printable(raw));  // a database may be somebody else's
  }
  template <class T>
  void operator()(std::string_view name, const T& value) {
    field(heading ? prefix + std::string(name) : shown(value));
  }

  // Spreadsheets take text that begins so for a formula.
  static std::string shown(const std::string& s) {
    const bool formula =
        s.size() > 1 && std::string_view("=+-@").find(s[0]) != std::string_view::npos;
    return formula ? "'" + s : s;
  }
  static std::string shown(bool b) { return b ? "1" : "0"; }
  static std::string shown(double x) { return std::isfinite(x) ? fmt::format("{}", x) : ""; }
  template <class T>
  static std::string shown(const UnsignedText<T>& x) {
    return std::to_string(x.n);
  }
  template <class T>
  static std::string shown(const Maybe<T>& x) {
    return x ? shown(*x) : "";
  }
  template <class T>
  static std::string shown(const T& x) {
    return std::to_string(x);
  }
};

std::vector<std::string> setting_names(const std::vector<CellSummary>& cells) {
  std::vector<std::string> names;
  for (const CellSummary& c : cells) {
    for (const auto& [name, value] : c.cell.settings) {
      if (std::ranges::find(names, name) == names.end()) {
        names.push_back(name);
      }
    }
  }
  return names;
}

void settings(Line& line, const CellRecord& cell, const std::vector<std::string>& names) {
  line.prefix = "setting_";
  for (const std::string& name : names) {
    line(name, setting_of(cell, name));
  }
  line.prefix.clear();
}

void level(Line& line, const std::string& name, const Maybe<Level>& l) {
  line(name, l ? Maybe<double>(l->median) : std::nullopt);
  line(name + "_least", l ? Maybe<double>(l->least) : std::nullopt);
  line(name + "_greatest", l ? Maybe<double>(l->greatest) : std::nullopt);
}

void interval(Line& line, const std::string& name, const Maybe<Interval>& i) {
  line(name + "_low", i ? Maybe<double>(i->low) : std::nullopt);
  line(name + "_high", i ? Maybe<double>(i->high) : std::nullopt);
}

void estimate(Line& line, const std::string& name, const Maybe<PairedRatio>& r) {
  line(name, r ? Maybe<double>(r->value) : std::nullopt);
  interval(line, name, r ? r->interval : std::nullopt);
}

void verdict_fields(Line& line, const std::string& of, const PairedVerdict& v) {
  line(of + "verdict", std::string(finding_word(v.finding)));
  line(of + "detectable", v.detectable);
  line(of + "equal", v.equal);
}

void comparison(Line& line, const CellSummary& c) {
  line("pairs", c.ratio ? c.ratio->pairs : 0);
  line("split", c.split);
  estimate(line, "ratio", c.ratio);
  interval(line, "ratio_ranked", c.ratio ? c.ratio->ranked : std::nullopt);
  line("ratio_p", c.ratio ? c.ratio->p : std::nullopt);
  line("ratio_to", c.ratio_to);
  verdict_fields(line, "", c.verdict);
}

void cell_fields(Line& line, const CellSummary& c, const std::vector<std::string>& names) {
  line("cell_id", c.cell_id);
  line("label", c.label);
  line("baseline", c.baseline);
  line("runs", c.runs);
  line("incomplete", c.incomplete);
  level(line, "samples_per_s", c.samples_per_s);
  level(line, "bytes_per_s", c.bytes_per_s);
  comparison(line, c);
  estimate(line, "fio_ratio", c.twins.ratio);
  verdict_fields(line, "fio_", c.twins.verdict);
  estimate(line, "fio_plain_ratio", c.twins.plain_ratio);
  line("device_requests", c.twins.requests);
  line("fio_requests", c.twins.twin_requests);
  line("ceiling_share", c.ceiling_share);
  line("peer_reads", c.peer_reads);
  line("decode_wait", c.decode_wait);
  line("prediction_epoch_ns", c.prediction_epoch_ns);
  line("prediction_error", c.prediction_error);
  line("first_batch_ns", c.first_batch_ns);
  line("depth_mean", c.depth_mean);
  line("requests_issued", c.requests_issued);
  line("read_amplification", c.read_amplification);
  line("device_fallbacks", c.device_fallbacks);
  line("cpu_ns_per_sample", c.cpu_ns_per_sample);
  line("utilisation", c.utilisation);
  line("exposed_copy", c.exposed_copy);
  line("ideal_share", c.ideal_share);
  level(line, "hidden_transfer", c.hidden_transfer);
  level(line, "exposed_transfer", c.exposed_transfer);
  level(line, "transfer_bytes_per_s", c.transfer_rate);
  level(line, "fed_gap_ns", c.fed_gap_ns);
  line("copy_cpu_ns_per_part", c.copy_cpu_ns_per_part);
  line("resident_before", c.resident_before);
  line("quality_displacement", c.quality.displacement);
  line("quality_rank_decorrelation", c.quality.rank_decorrelation);
  line("quality_neighbours_broken", c.quality.neighbours_broken);
  line("quality_label_mix", c.quality.label_mix);
  line("quality_rank_decorrelation_vs_read", c.quality.rank_decorrelation_vs_read);
  settings(line, c.cell, names);
}

// Of the bytes that we delivered, as everywhere: fio's own count has padding and gaps in it.
Maybe<double> fio_rate(const RunRecord& r) {
  return r.fio && r.fio->runtime_ns > 0 ? Maybe<double>(static_cast<double>(r.bytes) * 1e9 /
                                                        static_cast<double>(r.fio->runtime_ns))
                                        : std::nullopt;
}

struct RunContext {
  const CellSummary& cell;
  bool counted;
};

void run_fields(Line& line, const RunContext& context, const StoredRun& r,
                const std::vector<std::string>& names) {
  const bool timed = r.run.epoch_ns > 0;
  const double seconds = static_cast<double>(r.run.epoch_ns) / 1e9;
  const auto rate = [&](std::uint64_t n) {
    return timed ? Maybe<double>(static_cast<double>(n) / seconds) : Maybe<double>();
  };
  line("run_id", r.id);
  line("cell_id", r.cell_id);
  line("label", context.cell.label);
  line("counted", context.counted);
  line("samples_per_s", rate(r.run.samples));
  line("bytes_per_s", rate(r.run.bytes));
  each_run_column(r.run, line);
  line("probe_requests", r.run.probe ? Maybe<std::uint64_t>(r.run.probe->requests) : std::nullopt);
  line("probe_depth_mean", r.run.probe ? r.run.probe->depth_mean : std::nullopt);
  line("probe_lost_events",
       r.run.probe ? Maybe<std::uint64_t>(r.run.probe->lost_events) : std::nullopt);
  line("fio_bytes_per_s", fio_rate(r.run));
  line("fio_requests", r.run.fio ? r.run.fio->requests : std::nullopt);
  line("fio_ratio", r.run.fio ? r.run.fio->ratio : std::nullopt);
  line("fio_plain_ratio", r.run.fio_plain ? r.run.fio_plain->ratio : std::nullopt);
  const PredictionRecord none;
  const PredictionRecord& p = r.run.prediction ? *r.run.prediction : none;
  line("prediction_model", p.model);
  line("prediction_epoch_ns", r.run.prediction ? Maybe<std::int64_t>(p.epoch_ns) : std::nullopt);
  line("prediction_error", p.error);
  line("warnings", r.run.warnings.size());
  settings(line, context.cell.cell, names);
}

}  // namespace

std::string cells_csv(const std::vector<CellSummary>& cells) {
  const std::vector<std::string> names = setting_names(cells);
  Line heading{.heading = true, .prefix = "", .text = ""};
  cell_fields(heading, CellSummary{}, names);
  std::string out = heading.text + '\n';
  for (const CellSummary& cell : cells) {
    Line line;
    cell_fields(line, cell, names);
    out += line.text + '\n';
  }
  return out;
}

std::string runs_csv(const std::vector<CellSummary>& cells, const std::vector<StoredRun>& runs) {
  const std::vector<std::string> names = setting_names(cells);
  std::set<const StoredRun*> counted;
  for (const CellSummary& cell : cells) {
    const auto of_cell = counted_runs(runs, cell.cell_id);
    counted.insert(of_cell.begin(), of_cell.end());
  }
  Line heading{.heading = true, .prefix = "", .text = ""};
  run_fields(heading, {CellSummary{}, false}, StoredRun{}, names);
  std::string out = heading.text + '\n';
  for (const StoredRun& run : runs) {
    const auto cell = std::ranges::find(cells, run.cell_id, &CellSummary::cell_id);
    if (cell != cells.end()) {
      Line line;
      run_fields(line, {*cell, counted.contains(&run)}, run, names);
      out += line.text + '\n';
    }
  }
  return out;
}

}  // namespace blksweep
