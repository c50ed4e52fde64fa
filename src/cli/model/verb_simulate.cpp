// blksweep simulate: an epoch on a modelled disk, without any I/O; beside stored runs with --db.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/answer.h"
#include "cli/label_mix.h"
#include "cli/model/models.h"
#include "cli/model/prediction_text.h"
#include "cli/report/experiments.h"
#include "cli/run/cell_options.h"
#include "cli/run/peers.h"
#include "cli/run/stored_cell.h"
#include "cli/verb.h"
#include "dataset/catalog_file.h"
#include "experiment/emission_file.h"
#include "experiment/prediction_notes.h"
#include "experiment/record/quality.h"
#include "loader/address_proof.h"
#include "os/block/blockdev.h"
#include "store/result_store.h"
#include "store/summary/labels.h"
#include "store/summary/rig_verdict.h"

namespace blksweep {
namespace {

constexpr const char* kSimulateFooter =
    R"(Takes the options of run that make a cell; lists are swept, one row each.
Without any: --order random,lba --merge none,device; with --db the stored cells.

Examples:
  blksweep simulate data.cat --model hdd-7200
  blksweep simulate data.cat --model hdd-7200 --order random,lba --depth 1,32
  blksweep simulate data.cat --model hdd-7200 --db results.db --store)";

struct SimulateOptions {
  std::string catalog, model, db, experiment = "newest";
  CellText text;
  Bytes size{0};  // 0: of the device behind the catalog
  // Not given: with --db as the disk of the stored runs had them.
  Maybe<Bytes> max_request;
  Maybe<std::uint64_t> speedup;
  Nanos host_cost{0};
  std::uint64_t seed = 1, repeats = 1;
  WindowQuestion question{.label_mix = 0};  // 0: none is asked
  bool store = false, json = false;
};

std::uint32_t max_request_of(const SimulateOptions& o) {
  return static_cast<std::uint32_t>(o.max_request ? o.max_request->n : std::uint64_t{1} << 20);
}
double speedup_of(const SimulateOptions& o) { return static_cast<double>(o.speedup.value_or(1)); }

void label(SimulationWork& work) { work.labels = cell_labels(work.records); }

// Each gets the smallest window that shuffles as well as was asked.
Result<> find_windows(SimulationWork& work, const SimulateOptions& o, const Source& source) {
  WindowQuestion question = o.question;
  question.seed = o.seed;
  for (CellSettings& cell : work.cells) {
    BLKSWEEP_TRY(const WindowAnswer answer, smallest_window(source, cell, question));
    if (!answer.smallest) {
      return fail(
          fmt::format("--label-mix {}: not even a window of the whole data set reaches it, with a "
                      "mean of {:.3f} over {} "
                      "seeds: ask for less",
                      question.label_mix, answer.tried.front().mean, question.seeds));
    }
    cell.window = answer.smallest->window;
    work.notes.push_back(
        fmt::format("{}: a label mix of {} takes a window of {}% ({}): mean {:.3f} over {} seeds",
                    to_string(cell.shuffle), question.label_mix, cell.window.percent,
                    format_bytes(answer.smallest->bytes), answer.smallest->mean, question.seeds));
  }
  return {};
}

Result<SimulationWork> asked_cells(const SimulateOptions& o, const Source& source) {
  CellText text = o.text;
  if (o.question.label_mix > 0) {
    text.try_emplace("shuffle", std::vector<std::string>{"buffer"});
    text.try_emplace("order", std::vector<std::string>{"lba"});
  }
  text.try_emplace("order", std::vector<std::string>{"random", "lba"});
  text.try_emplace("merge", std::vector<std::string>{"none", "device"});
  SimulationWork work;
  BLKSWEEP_TRY(work.cells, expand_cells(text));
  if (o.question.label_mix > 0) {
    BLKSWEEP_CHECK(find_windows(work, o, source));
  }
  for (std::size_t c = 0; c < work.cells.size(); ++c) {
    work.records.push_back({describe(work.cells[c])});
    for (std::uint32_t r = 0; r < o.repeats; ++r) {
      work.jobs.push_back({c, r, o.seed + r, std::nullopt, max_request_of(o), speedup_of(o)});
    }
  }
  label(work);
  return work;
}

// What is given on the command line narrows the stored cells.
Result<bool> is_wanted(const CellRecord& cell, const CellText& text) {
  for (const auto& [name, values] : text) {
    bool any = false;
    for (const std::string& value : values) {
      CellText one{{name, {value}}};
      if (name == "consumer") {
        one["compute"] = {"1ms"};  // any: the word of the consumer is compared
      } else if (name == "decode-cpu") {
        one["decode-threads"] = {"1"};
      }
      BLKSWEEP_TRY(const std::vector<CellSettings> wanted, expand_cells(one));
      any = any || setting_of({describe(wanted.front())}, name) == setting_of(cell, name);
    }
    if (!any) {
      return false;
    }
  }
  return true;
}

// By where the bytes lie, too: as many samples of as many bytes may be other files.
bool same_data(const StoredRun& r, Catalog catalog, const CellSettings& cell) {
  catalog.share = cell.read_share;
  return !r.run.incomplete && r.run.epoch_ns > 0 &&
         (!r.run.layout || *r.run.layout == layout_hash(catalog)) &&
         r.run.samples == catalog.samples() * cell.epochs &&
         r.run.bytes == catalog.bytes().n * cell.epochs;
}

void add_notes(std::vector<std::string>& all, const std::vector<std::string>& more) {
  for (const std::string& text : more) {
    if (std::ranges::find(all, text) == all.end()) {
      all.push_back(text);
    }
  }
}

// With the queue and the speed of the disk as they were then.
void add_runs(SimulationWork& work, const SimulateOptions& o, const SummaryInput& stored,
              const StoredCell& cell, const Catalog& catalog) {
  const auto found = stored.hosts.find(setting_of(cell.cell, "disk"));
  const HostRecord host = found == stored.hosts.end() ? HostRecord() : found->second;
  const std::uint32_t most =
      o.max_request ? max_request_of(o) : longest_request(host.queue).value_or(max_request_of(o));
  const double speedup = o.speedup ? speedup_of(o) : stored_speedup(host.layers);
  for (const StoredRun* r : counted_runs(stored.runs, cell.id)) {
    if (same_data(*r, catalog, work.cells.back())) {
      work.jobs.push_back({work.cells.size() - 1, r->run.repeat, r->run.seed, *r, most, speedup});
      add_notes(work.notes, queue_notes(host.queue, work.cells.back()));
    }
  }
}

Result<SimulationWork> stored_cells(const SimulateOptions& o, const Catalog& catalog) {
  BLKSWEEP_TRY(ResultReader reader, ResultReader::open(o.db));
  BLKSWEEP_TRY(const JoinedExperiments joined, join_experiments(reader, {o.db, o.experiment}));
  SimulationWork work;
  for (const StoredCell& cell : joined.input.cells) {
    BLKSWEEP_TRY(const bool wanted, is_wanted(cell.cell, o.text));
    const auto settings = stored_settings(cell.cell);
    if (wanted && control_of(cell.cell).empty() && settings && settings->direct &&
        settings->workers == 0) {
      work.cells.push_back(*settings);
      work.records.push_back(cell.cell);
      add_runs(work, o, joined.input, cell, catalog);
    }
  }
  if (work.jobs.empty()) {
    return fail(
        fmt::format("{}: no complete run of such cells read these {} samples of {}: name "
                    "the catalog of the run, or another --experiment",
                    o.db, format_count(catalog.samples()), format_bytes(catalog.bytes())));
  }
  label(work);
  return work;
}

Result<SimulationAnswer> simulate_all(const Source& all, const SimulationWork& work,
                                      PredictSettings how) {
  SimulationAnswer answer{.rows = {}, .notes = work.notes};
  if (all.device) {
    add_notes(answer.notes, place_notes(how.model, all.device->disk));
  }
  for (const SimulationJob& job : work.jobs) {
    const CellSettings& cell = work.cells[job.cell];
    const Source source = part_of(all, cell.read_share);
    how.max_request = job.max_request;
    how.speedup = job.speedup;
    BLKSWEEP_TRY(const PlannedEpoch planned, plan_epoch(source, cell, job.seed));
    BLKSWEEP_TRY(const Prediction p, predict_run(source, cell, planned, {how, job.seed}));
    add_notes(answer.notes, prediction_notes(cell, planned.plan));
    add_notes(answer.notes, model_notes(how.model, cell));
    const QualityRecord quality =
        quality_of(source.catalog, cell.order, planned, planned_emission(planned).samples);
    answer.rows.push_back({job, p, quality});
  }
  return answer;
}

Result<> store(const SimulateOptions& o, const SimulationAnswer& answer, const ModelSpec& model) {
  BLKSWEEP_TRY(ResultStore db, ResultStore::open(o.db));
  for (const SimulatedRun& row : answer.rows) {
    BLKSWEEP_CHECK(db.attach_prediction(
        row.job.run->id, prediction_record(row.prediction, model, row.job.run->run.epoch_ns)));
  }
  return {};
}

Result<Exit> simulate(const SimulateOptions& o) {
  if (o.repeats < 1 || o.repeats > 1000 || o.speedup == 0U || o.speedup > 1000000U) {
    return usage_error("--repeats is 1 to 1000, --speedup 1 to 1000000");
  }
  if (o.store && o.db.empty()) {
    return usage_error("--store needs --db: it keeps predictions of runs that are stored there");
  }
  if (o.question.label_mix > 0 && (!o.db.empty() || o.text.contains("window"))) {
    return usage_error("--label-mix finds a window: without --window and --db");
  }
  BLKSWEEP_TRY(const ModelSpec model, model_by_name(o.model));
  BLKSWEEP_TRY(const CatalogFile file, CatalogFile::open(o.catalog));
  const Source source = planning_source(file.view());
  const PredictSettings how{
      .model = model, .size = o.size.n > 0 ? o.size : disk_size(source), .host_cost = o.host_cost};
  BLKSWEEP_TRY(SimulationWork work,
               o.db.empty() ? asked_cells(o, source) : stored_cells(o, source.catalog));
  add_notes(work.notes, source.warnings);
  if (!source.device && o.size.n == 0) {
    work.notes.push_back(
        fmt::format("the disk of {} is not known ({}): it is taken to end with the data, at {}, "
                    "which decides how far seeks are: give its --size",
                    o.catalog, source.device_refused, format_bytes(how.size)));
  }
  BLKSWEEP_TRY(const SimulationAnswer answer, simulate_all(source, work, how));
  // Only when asked: a report shows the newest prediction, and would change by a mere comparison.
  if (o.store) {
    BLKSWEEP_CHECK(store(o, answer, model));
  }
  if (o.json) {
    say_json(simulation_json(answer, work, {o.catalog, how}));
  } else {
    say_text(simulation_text(answer, work));
  }
  return Exit::done;
}

Result<Bytes> parse_request(std::string_view text) {
  BLKSWEEP_TRY(const Bytes b, parse_bytes(text));
  if (b.n < kPageBytes || b.n > (std::uint64_t{1} << 30) || b.n % kSectorBytes != 0) {
    return usage_error(fmt::format("'{}' is not between 4KiB and 1GiB in whole sectors", text));
  }
  return b;
}

}  // namespace

void add_simulate(Verbs& verbs) {
  Command app =
      verbs.root.add_subcommand("simulate", "predict an epoch on a modelled disk, without any I/O");
  auto o = std::make_shared<SimulateOptions>();
  app.add_option("CATALOG", o->catalog, "a file that `blksweep catalog` wrote").required();
  app.add_option("--model", o->model, "hdd-7200, none, ... or a .toml file").required();
  add_parsed(app, "--size", o->size, parse_bytes, "of the disk; default: the catalog's device");
  add_parsed(app, "--max-request", o->max_request, parse_request,
             "longest request; default 1MiB, with --db theirs");
  add_parsed(app, "--host-cost", o->host_cost, parse_duration,
             "CPU time to submit one read; default 0");
  add_parsed(app, "--speedup", o->speedup, parse_count,
             "of the emulated disk; default 1, with --db theirs");
  for (const CellOption& option : cell_options()) {
    if (!is_node_option(option.name) && !is_peer_option(option.name)) {
      add_cell_option(app, option, o->text);
    }
  }
  add_parsed(app, "--seed", o->seed, parse_count, "of orders and shuffles; default 1");
  add_parsed(app, "--repeats", o->repeats, parse_count, "seeds in a row; default 1");
  add_label_mix(app, o->question);
  app.add_option("--db", o->db, "compare with its runs");
  app.add_flag("--store", o->store, "keep the predictions in --db, for its reports");
  app.add_option("--experiment", o->experiment, "newest, all or numbers; default newest");
  app.add_flag("--json", o->json, "print one JSON document");
  app.footer(kSimulateFooter);
  app.callback([&verbs, o] { verbs.action = [o] { return simulate(*o); }; });
}

}  // namespace blksweep
