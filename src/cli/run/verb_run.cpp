// blksweep run: cells from options and a spec file, measured, stored and printed.
#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/log.h"
#include "base/text.h"
#include "cli/model/models.h"
#include "cli/progress_line.h"
#include "cli/run/answer.h"
#include "cli/run/campaign.h"
#include "cli/run/controls.h"
#include "cli/run/dry_run.h"
#include "cli/run/emission.h"
#include "cli/run/options.h"
#include "cli/run/peers.h"
#include "cli/turn.h"
#include "cli/verb.h"
#include "cli/version.h"
#include "experiment/describe_host.h"
#include "experiment/experiment.h"
#include "experiment/fallback.h"
#include "experiment/run_node.h"
#include "os/file/kept_files.h"
#include "os/process/signals.h"
#include "rig/rig.h"

namespace blksweep {
namespace {

constexpr const char* kRunHelp = "read a data set as a training job would, and measure it";
constexpr const char* kRunFooter =
    "Settings take several values, with commas: every combination is run (a cell).\n"
    "examples:\n"
    "  blksweep run --data DIR --order random,lba --repeats 3 --db results.db\n"
    "  blksweep run --catalog data.cat --order lba --merge device --verify --json\n"
    "  blksweep run SPEC.toml --catalog data.cat --cache cold --fio-twin";

constexpr const char* kPinInodes = "pin-inodes";  // a switch: true without a value

struct RunArgs {
  std::string spec;
  CellText text;
  bool dry_run = false;
};

// The same sweep of the same files gets the same key, so that a run that was cut off can go on.
// Samples and extents are part of it: a data set that was made anew under its old name is another,
// and so are the same files divided into other samples. However its folder is written: "set/" is
// "set".
std::string experiment_key(const RunOptions& o, const Catalog& catalog) {
  std::string all = fmt::format(
      "{}|{}|{}|{}|{}|{}|{}|{}|{:x}|{:x}", o.data.empty() ? "" : catalog.root, o.catalog, o.seed,
      2 * int{o.twins.plain} + int{o.twins.grouped}, o.verify, o.check, o.probe, catalog.samples(),
      XXH3_64bits(catalog.files.data(), catalog.files.size_bytes()),
      XXH3_64bits(catalog.extents.data(), catalog.extents.size_bytes()));
  if (o.probe_layers || o.probe_cache) {  // more of them cost more
    all += fmt::format("|{}", 2 * int{o.probe_layers} + int{o.probe_cache});
  }
  if (!catalog.parts.empty()) {
    all += fmt::format(
        "|{:x}", XXH3_64bits(catalog.parts.data(), catalog.parts.size() * sizeof(PartSample)));
  }
  for (const CellSettings& cell : o.cells) {
    for (const auto& [name, value] : describe(cell)) {
      all += "|" + name + "=" + value;
    }
    all += peer_program_key(cell);
  }
  return fmt::format("{:016x}", XXH3_64bits(all.data(), all.size()));
}

// Cells as they can run here; two that became one are run once.
Result<> settle_cells(RunOptions& o, const Refusals& refusals) {
  std::vector<CellSettings> cells;
  for (const CellSettings& cell : o.cells) {
    BLKSWEEP_TRY(const CellSettings settled, settle(cell, refusals));
    const auto same = [&](const CellSettings& c) { return describe(c) == describe(settled); };
    if (std::ranges::none_of(cells, same)) {
      cells.push_back(settled);
    }
  }
  o.cells = std::move(cells);
  return {};
}

bool change_queue(const std::vector<CellSettings>& cells) {
  return std::ranges::any_of(cells, [](const CellSettings& c) { return c.node.changes_queue(); });
}

std::string full_path(const std::string& path) {
  std::error_code error;
  const std::filesystem::path found = std::filesystem::absolute(path, error);
  return error ? path : found.lexically_normal().string();
}

CommandRecord command_of(const RunArgs& args, const Spec& spec,
                         const std::vector<std::string>& argv) {
  CommandRecord command;
  for (const std::string& word : argv) {
    command.argv += (command.argv.empty() ? "" : " ") + shell_word(word);
  }
  command.directory = full_path(".");
  if (!args.spec.empty()) {
    command.spec_name = args.spec;
    command.spec = spec.text;
  }
  return command;
}

struct RunContext {  // what an experiment is made in
  const Source& source;
  const Refusals& refusals;
  const CommandRecord& command;
};

ExperimentSettings experiment_settings(const RunOptions& o, const RunContext& in) {
  const auto& [source, refusals, command] = in;
  ExperimentSettings s;
  for (const CellSettings& cell : o.cells) {
    s.cells.push_back({cell,
                       {describe(cell)},
                       cell.control == Control::ram ? std::vector<std::string>()
                                                    : fallback_notes(cell, refusals)});
  }
  s.repeats = o.repeats;
  s.precision = o.precision;
  s.seed = o.seed;
  s.verify = o.verify;
  s.check = o.check;
  s.twins = o.twins;
  s.peers = o.peers;
  s.probe = o.probe;
  s.probe_layers = o.probe_layers;
  s.probe_cache = o.probe_cache;
  s.ceiling = o.ceiling;
  s.key = experiment_key(o, source.catalog);
  s.host = describe_host(source);
  s.host.device_label = o.disk_label;
  s.host.argv = command.argv;
  s.command = command;
  s.command.data_root = std::string(source.catalog.root);
  if (!o.catalog.empty()) {
    s.command.catalog = full_path(o.catalog);
  }
  s.host.tool_version = version();
  s.host.git_revision = git_revision();
  return s;
}

struct Measuring {
  ResultStore* store = nullptr;  // none: it is not there yet, or not asked for
  const CommandRecord& command;
  std::string* key = nullptr;  // of the experiment; who asks for it prints the runs
};

// Without a key asked for, what was measured is the answer.
Result<> print_runs(const RunOptions& options, const RunAnswer& answer, const std::string& key,
                    const Result<Exit>& result) {
  const bool whole =
      !options.json || !answer.has_runs();  // JSON: of runs measured now, those alone
  if (result && !options.db.empty() && whole) {
    const bool nothing_left = !answer.has_runs() && *result != Exit::interrupted;
    return print_stored(options, key, nothing_left);
  }
  if (result || answer.has_runs()) {
    answer.print();
  }
  return {};
}

// No mistake, and not what "warm" says to most: their pages are not.
void say_what_is_warm(const std::vector<CellSettings>& cells) {
  const bool passes_by = std::ranges::any_of(cells, [](const CellSettings& c) {
    return c.cache == CacheState::warm && c.peer.empty() && c.control == Control::none &&
           (c.direct || c.merge == Merge::device);
  });
  if (passes_by) {
    note(
        "cache warm: direct reads pass the page cache by; warm for them are inodes, folders and "
        "extent maps (--buffered reads what is cached)");
  }
}

Result<ResultStore> open_in_turn(const std::string& db) {
  BLKSWEEP_TRY(ResultStore store, ResultStore::open(db));
  BLKSWEEP_CHECK(wait_for_turn(store, db));
  return store;
}

// Before the data is looked at, which would disturb who has the turn. One that is not there yet is
// made when nothing can be refused any more; one that cannot be made is told at once.
Result<std::optional<ResultStore>> open_if_there(const std::string& db) {
  std::error_code none;
  const std::string folder = std::filesystem::path(full_path(db)).parent_path().string();
  if (db.empty() || (!std::filesystem::exists(db, none) && ::access(folder.c_str(), W_OK) == 0)) {
    return std::optional<ResultStore>();
  }
  return open_in_turn(db);
}

// Its peers were found.
Result<Exit> measure(RunOptions options, Measuring how) {
  BLKSWEEP_TRY(const Source source,
               open_source({options.data, options.catalog, options.follow_links}));
  BLKSWEEP_CHECK(RunNode::put_back_left_behind(source, change_queue(options.cells)));
  const std::string spec = how.command.spec_name.value_or(""), root(source.catalog.root);
  const KeptFiles kept{{options.catalog, options.db, spec}, "", root};
  BLKSWEEP_CHECK(check_kept("--db", options.db, {.data_set = root}));
  const Refusals refusals = find_refusals(source, options.cells);
  std::erase_if(options.cells, [](const CellSettings& c) { return c.control != Control::none; });
  BLKSWEEP_CHECK(settle_cells(options, refusals));
  say_what_is_warm(options.cells);
  std::optional<ControlRig> controls;
  if (options.controls) {
    add_controls(options.cells);
    controls.emplace(ControlRig::set_up(source, options.cells, options.seed));
  }
  ExperimentSettings settings = experiment_settings(options, {source, refusals, how.command});
  if (!options.model.empty()) {
    BLKSWEEP_TRY(const ModelSpec model, model_by_name(options.model));
    settings.predict = predict_settings(source, model);
  }
  BLKSWEEP_TRY(EmissionFiles emission,
               EmissionFiles::begin(options.emission, options.emitted(), kept));
  if (controls) {
    controls->take_part(settings, source);
  }
  std::optional<ResultStore> made;
  if (how.store == nullptr && !options.db.empty()) {
    BLKSWEEP_CHECK(check_experiment(source, settings));
    settings.checked = true;
    BLKSWEEP_TRY(made, open_in_turn(options.db));
    how.store = &*made;
  }
  Progress progress;
  settings.progress = &progress;
  RunAnswer answer(options, settings.host);
  std::optional<ProgressLine> line(std::in_place, progress);
  settings.on_round = [&](const RoundEvent& e) { answer.add_round(e); };
  const Result<Exit> result = run_experiment(
      source, settings, how.store,
      [&](const RunEvent& e) {
        answer.add(e, settings.cells.data());
        emission.add_run(e, settings.cells.data(), source.catalog);
      },
      stop_requested());
  line.reset();
  if (controls) {
    BLKSWEEP_CHECK(controls->down());
  }
  answer.say_again();
  if (how.key != nullptr) {
    *how.key = settings.key;
  } else {
    BLKSWEEP_CHECK(print_runs(options, answer, settings.key, result));
  }
  return result && !emission.written() ? tl::unexpected(emission.written().error()) : result;
}

Result<Exit> run_campaign(const RunArgs& args, const CampaignPlan& plan,
                          const CommandRecord& command) {
  if (args.dry_run) {
    return dry_run(plan);
  }
  if (plan.sites.size() > 1 && !plan.sites.front().options.emission.empty()) {
    return usage_error("--emission: of one data set, and the spec reads several: a run for each");
  }
  if (plan.rig != nullptr) {
    BLKSWEEP_CHECK(check_rig_rights(*plan.rig));
  }
  // What a rig makes takes long: a database that cannot be opened is told before.
  using Opened = Result<std::optional<ResultStore>>;
  BLKSWEEP_TRY(std::optional<ResultStore> store,
               plan.rig != nullptr ? Opened(open_in_turn(plan.db)) : open_if_there(plan.db));
  return carry_out(plan, [&](const RunOptions& options) -> Result<MeasuredSite> {
    MeasuredSite site;
    BLKSWEEP_TRY(site.exit, measure(options, {store ? &*store : nullptr, command, &site.key}));
    return site;
  });
}

Result<Exit> run_verb(const RunArgs& args, const std::vector<std::string>& argv) {
  Spec spec;
  if (!args.spec.empty()) {
    BLKSWEEP_TRY(spec, load_spec(args.spec));
  }
  install_stop_signals();
  const CommandRecord command = command_of(args, spec, argv);
  if (spec.rig) {
    BLKSWEEP_TRY(const CampaignPlan plan, plan_campaign(spec, args.text));
    return run_campaign(args, plan, command);
  }
  BLKSWEEP_CHECK(add_matrix_cells(spec, {}, args.text));
  BLKSWEEP_TRY(RunOptions options, parse_run_options(spec, args.text));
  BLKSWEEP_CHECK(find_peers(options.cells));
  if (!options.folded.empty()) {
    note(options.folded);
  }
  if (args.dry_run) {
    return dry_run(plan_of(options));
  }
  if (!options.report.empty()) {
    BLKSWEEP_TRY(const CampaignPlan plan, plan_of_report(options));
    return run_campaign(args, plan, command);
  }
  BLKSWEEP_TRY(std::optional<ResultStore> store, open_if_there(options.db));
  return measure(options, {store ? &*store : nullptr, command});
}

void add_run_flags(Command app, CellText& text) {
  const auto flag = [&](const std::string& name, const std::string& option,
                        const std::string& value, const std::string& help) {
    Option added = app.add_flag(
        "--" + name, [&text, option, value] { text[option] = {value}; }, help);
    if (help.empty()) {  // another line names it
      added.hidden();
    }
  };
  flag("verify", "verify", "true", "check the hash of all samples, not of some; --no-check: none");
  flag("check", "check", "true", "");
  flag("no-check", "check", "false", "");
  flag("probe", "probe", "true", "");
  flag("no-probe", "probe", "false", "no eBPF probe; --probe-layers: reads; --probe-cache: pages");
  flag("probe-layers", "probe-layers", "true", "");
  flag("probe-cache", "probe-cache", "true", "");
  flag("no-ceiling", "ceiling", "false", "");
  flag("controls", "controls", "true", "run controls of the rig, too; --no-ceiling: measure none");
  flag("direct", "direct", "true", "");
  flag("buffered", "buffered", "true", "");
  flag("follow-links", "follow-links", "true", "");
  flag("json", "json", "true", "one JSON document on stdout");
  const auto pin = [&text](const std::string& v) -> Result<> {
    text[kPinInodes] = split_list(v);
    return {};
  };
  app.add_flag_value("--pin-inodes", "true", pin).hidden();  // --pin-pages names it
}

}  // namespace

void add_run(Verbs& verbs) {
  Command app = verbs.root.add_subcommand("run", kRunHelp);
  const auto args = std::make_shared<RunArgs>();
  app.add_option("SPEC", args->spec, "options and cells as TOML");
  const auto text_option = [&](const std::string& name, const std::string& help) {
    const auto set = [args, name](const std::string& value) -> Result<> {
      args->text[name] = {value};
      return {};
    };
    Option added = app.add_text("--" + name, set, help).last_wins();
    if (help.empty()) {  // another line, or docs/peers.md, names it
      added.hidden();
    }
  };
  text_option("data", "folder to scan; --follow-links: also links out of it");
  text_option("catalog", "catalog file, checked against the files");
  for (const CellOption& option : cell_options()) {
    if (option.name != kPinInodes) {
      add_cell_option(app, option, args->text);
    }
  }
  // Its word may be left out; then what follows may be the SPEC, which is a path.
  const auto twin = [args](const std::vector<std::string>& given) -> Result<> {
    const std::string word = given.empty() ? "" : given.front();
    const bool is_word = word.find_first_of("./") == std::string::npos;
    args->text["fio-twin"] = {is_word && !word.empty() ? word : "grouped"};
    args->spec = is_word ? args->spec : word;
    return {};
  };
  app.add_texts("--fio-twin", twin, "run fio too: grouped (as blksweep submits), plain, both")
      .value_optional()
      .last_wins();
  text_option("peer-data", "");
  text_option("peer-timeout", "");
  text_option("repeats", "runs of each cell, interleaved; default 1; auto: as needed");
  text_option("precision", "auto: half-width 2%; --repeats-max, 100; --time-limit, none");
  text_option("repeats-max", "");
  text_option("time-limit", "");
  text_option("seed", "of orders and shuffles, +1 per repeat; default 1");
  text_option("db", "results database; --report, --workdir DIR, --emission FILE");
  text_option("emission", "");
  text_option("model", "predict runs on this model; --disk-label: name in reports");
  text_option("disk-label", "");
  text_option("report", "");
  text_option("workdir", "");
  add_run_flags(app, args->text);
  app.add_flag("--dry-run", args->dry_run, "cells, runs, time and space needed; nothing is done");
  app.footer(kRunFooter);
  app.callback([&verbs, args] {
    verbs.action = [args, argv = verbs.argv] { return run_verb(*args, argv); };
  });
}

}  // namespace blksweep
