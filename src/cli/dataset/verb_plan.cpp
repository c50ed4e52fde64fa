// blksweep plan: what `run` would read with the same options, without reading.
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "base/log.h"
#include "base/table.h"
#include "cli/answer.h"
#include "cli/dataset/plan_windows.h"
#include "cli/label_mix.h"
#include "cli/run/cell_options.h"
#include "cli/run/emission.h"
#include "cli/run/peers.h"
#include "cli/verb.h"
#include "dataset/catalog_file.h"
#include "experiment/fallback.h"
#include "experiment/record/quality.h"
#include "loader/epoch.h"
#include "loader/verify.h"
#include "os/block/blockdev.h"
#include "store/export/json.h"
#include "store/summary/labels.h"

namespace blksweep {
namespace {

constexpr const char* kPlanFooter =
    R"(Takes the options of run that decide a plan; lists are swept, one row each.
Without any: --order random,lba --merge none,device.

Examples:
  blksweep plan data.cat
  blksweep plan data.cat --order lba --shuffle buffer --label-mix 0.95
  blksweep plan data.cat --order chunked --shuffle reservoir --window 10% --json)";

// Of the cell table, those that have no say before the first read.
constexpr std::array<std::string_view, 6> kNoPlan{"copy",  "consumer", "compute",
                                                  "cache", "openers",  "open-by"};

struct PlanOptions {
  std::string catalog, emission;
  CellText text;
  std::uint64_t seed = 1;
  WindowQuestion question{.label_mix = 0};  // 0: none is asked
  bool repeats_given = false;
  bool json = false;
};

struct PlanCounts {
  std::uint64_t device_fallbacks = 0, horizon_peak = 0;
  std::size_t batches = 0, gates = 0;
  Bytes window{0}, window_peak{0}, arena{0};
  std::int64_t plan_ns = 0;
};

// What is said of a plan: the plan itself has gone by then, only one is in memory at a time.
struct PlanRow {
  std::string label;
  CellRecord cell;
  PlanSummary sum;
  PlanCounts counts;
  std::string emission_hash;
  QualityRecord quality;
};

double ratio(std::uint64_t a, std::uint64_t b) {
  return b == 0 ? 0 : static_cast<double>(a) / static_cast<double>(b);
}

Json to_json(const PlanRow& r) {
  return {{"cell", cell_json(r.cell)},
          {"reads", r.sum.reads},
          {"read_bytes", r.sum.read_bytes},
          {"sample_bytes", r.sum.sample_bytes},
          {"mean_read_bytes", ratio(r.sum.read_bytes, r.sum.reads)},
          {"seeks", or_null(r.sum.seeks)},
          {"mean_seek_bytes", or_null(r.sum.mean_seek_bytes)},
          {"gap_bytes", r.sum.gap_bytes},
          {"device_fallbacks", r.counts.device_fallbacks},
          {"batches", r.counts.batches},
          {"gates", r.counts.gates},
          {"horizon_bytes", r.counts.horizon_peak},
          {"window_bytes", r.counts.window.n},
          {"window_peak_bytes", r.counts.window_peak.n},
          {"arena_bytes", r.counts.arena.n},
          {"plan_ns", r.counts.plan_ns},
          {"emission_hash", r.emission_hash},
          {"shuffle_quality", quality_json(r.quality)}};
}

std::string seeks_text(const PlanSummary& sum) {
  return sum.seeks ? format_count(*sum.seeks) : "-";
}
std::string seek_text(const PlanSummary& sum) {
  return sum.mean_seek_bytes ? format_bytes({static_cast<std::uint64_t>(*sum.mean_seek_bytes)})
                             : "-";
}

std::string measure_text(const Maybe<double>& m) { return m ? fmt::format("{:.2f}", *m) : "-"; }

void print_table(const std::vector<PlanRow>& rows) {
  Table table;
  table.column("cell", Table::Align::left);
  for (const char* title : {"reads", "bytes", "mean read", "seeks", "mean seek", "unwanted",
                            "fallbacks", "memory", "planning", "displacement", "label mix"}) {
    table.column(title);
  }
  for (const PlanRow& r : rows) {
    const auto mean = static_cast<std::uint64_t>(ratio(r.sum.read_bytes, r.sum.reads));
    table.row({r.label, format_count(r.sum.reads), format_bytes({r.sum.read_bytes}),
               format_bytes({mean}), seeks_text(r.sum), seek_text(r.sum),
               fmt::format("{:.1f} %", 100 * ratio(r.sum.gap_bytes, r.sum.read_bytes)),
               format_count(r.counts.device_fallbacks), format_bytes(r.counts.arena),
               format_duration(Nanos{r.counts.plan_ns}), measure_text(r.quality.displacement),
               measure_text(r.quality.label_mix)});
  }
  say_text(table.text());
}

// The cells as a run would have them.
struct PlanCells {
  std::vector<CellSettings> cells;
  std::vector<CellRecord> records;
  std::vector<std::string> labels;
};

Result<PlanCells> plan_cells(const Source& all, const CellText& text) {
  PlanCells out;
  BLKSWEEP_TRY(out.cells, expand_cells(text));
  const Refusals refusals{"", address_refusal(all.catalog), "", largest_sample(all.catalog)};
  for (CellSettings& cell : out.cells) {
    BLKSWEEP_TRY(cell, settle(cell, refusals));
    out.records.push_back({describe(cell)});
    for (const std::string& line : fallback_notes(cell, refusals)) {
      note(line);
    }
  }
  out.labels = cell_labels(out.records);
  return out;
}

PlanCounts counts_of(const PlannedEpoch& planned) {
  return {.device_fallbacks = planned.plan.device_fallbacks,
          .horizon_peak = planned.plan.horizon_peak,
          .batches = planned.schedule.batches(),
          .gates = planned.schedule.gates.size(),
          .window = planned.window,
          .window_peak = planned.schedule.window_peak,
          .arena = memory_of(planned),
          .plan_ns = planned.plan_ns};
}

// What the measures of the order do not need.
void forget_reads(PlannedEpoch& planned) {
  std::vector<std::uint32_t> order = std::move(planned.plan.order);
  planned.plan = {};
  planned.plan.order = std::move(order);
  planned.schedule.slot = {};
}

struct CellNumber {
  const CellSettings& cell;
  std::size_t number;  // from 1
};

Result<PlanRow> plan_row(const Source& all, CellNumber of, std::uint64_t seed,
                         EmissionFiles& emission) {
  const Source source = part_of(all, of.cell.read_share);
  BLKSWEEP_TRY(PlannedEpoch planned, plan_epoch(source, of.cell, seed));
  PlanRow row;
  row.counts = counts_of(planned);
  row.sum = summarize(source.catalog, planned.plan, planned.align > 1 ? 1 : kPageBytes);
  emission.add_planned(of.number, source.catalog, planned);
  const std::vector<std::uint32_t> emitted = planned_emission(planned).samples;
  forget_reads(planned);
  row.emission_hash = emission_hash(emitted);
  row.quality = quality_of(source.catalog, of.cell.order, planned, emitted);
  return row;
}

Result<std::vector<PlanRow>> plan_rows(const Source& all, const PlanOptions& o) {
  CellText text = o.text;
  text.try_emplace("order", std::vector<std::string>{"random", "lba"});
  text.try_emplace("merge", std::vector<std::string>{"none", "device"});
  BLKSWEEP_TRY(const PlanCells in, plan_cells(all, text));
  BLKSWEEP_TRY(
      EmissionFiles emission,
      EmissionFiles::begin(o.emission, {in.cells.size(), 1},
                           {.files = {o.catalog}, .data_set = std::string(all.catalog.root)}));
  std::vector<PlanRow> rows;
  for (std::size_t i = 0; i < in.cells.size(); ++i) {
    BLKSWEEP_TRY(PlanRow row, plan_row(all, {in.cells[i], i + 1}, o.seed, emission));
    row.label = in.labels[i];
    row.cell = in.records[i];
    rows.push_back(std::move(row));
  }
  BLKSWEEP_CHECK(emission.written());
  return rows;
}

Result<Exit> find_windows(const Source& all, const PlanOptions& o) {
  if (o.text.contains("window") || !o.emission.empty()) {
    return usage_error("--label-mix finds a window: without --window and --emission");
  }
  CellText text = o.text;
  text.try_emplace("shuffle", std::vector<std::string>{"buffer", "reservoir"});
  BLKSWEEP_TRY(const PlanCells in, plan_cells(all, text));
  WindowQuestion question = o.question;
  question.seed = o.seed;
  std::vector<FoundWindow> found;
  bool all_found = true;
  for (std::size_t i = 0; i < in.cells.size(); ++i) {
    BLKSWEEP_TRY(WindowAnswer answer, smallest_window(all, in.cells[i], question));
    all_found = all_found && answer.smallest;
    found.push_back({in.labels[i], in.records[i], std::move(answer)});
  }
  say_text(o.json ? json_text(windows_json(found, question)) + "\n"
                  : windows_text(found, question));
  return all_found ? Exit::done : Exit::incomplete;
}

Result<Exit> run_plan(const PlanOptions& o) {
  if (o.repeats_given && o.question.label_mix <= 0) {
    return usage_error("--repeats: only with --label-mix");
  }
  BLKSWEEP_TRY(const CatalogFile file, CatalogFile::open(o.catalog));
  const Source source = planning_source(file.view());
  for (const std::string& text : source.warnings) {
    warn(text);
  }
  if (o.question.label_mix > 0) {
    return find_windows(source, o);
  }
  BLKSWEEP_TRY(const std::vector<PlanRow> rows, plan_rows(source, o));
  if (!o.json) {
    print_table(rows);
    return Exit::done;
  }
  Json document = {{"catalog", o.catalog}, {"seed", o.seed}, {"plans", Json::array()}};
  for (const PlanRow& row : rows) {
    document["plans"].push_back(to_json(row));
  }
  say_json(document);
  return Exit::done;
}

}  // namespace

void add_plan(Verbs& verbs) {
  Command app = verbs.root.add_subcommand("plan", "reads, seeks and memory, without reading");
  auto o = std::make_shared<PlanOptions>();
  app.add_option("CATALOG", o->catalog, "a file that `blksweep catalog` wrote").required();
  for (const CellOption& option : cell_options()) {
    if (std::ranges::find(kNoPlan, option.name) == kNoPlan.end() && !is_node_option(option.name) &&
        !is_peer_option(option.name)) {
      add_cell_option(app, option, o->text);
    }
  }
  add_parsed(app, "--seed", o->seed, parse_count, "of order and shuffle; default 1");
  app.add_option("--emission", o->emission,
                 "write the order in which samples come: .npy, else CSV");
  add_label_mix(app, o->question);
  const auto repeats = [o](const std::string& text) -> Result<> {
    o->repeats_given = true;
    BLKSWEEP_TRY(o->question.seeds, parse_seeds(text));
    return {};
  };
  app.add_text("--repeats", repeats,
               "--label-mix: seeds in a row that the mean is over; default 5");
  app.add_flag("--json", o->json, "print one JSON document");
  app.footer(kPlanFooter);
  app.callback([&verbs, o] { verbs.action = [o] { return run_plan(*o); }; });
}

}  // namespace blksweep
