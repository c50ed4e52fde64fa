// blksweep fio: the fio twin of a stored run as a folder, to be run by hand.
#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "base/log.h"
#include "cli/answer.h"
#include "cli/run/cell_options.h"
#include "cli/run/stored_cell.h"
#include "cli/verb.h"
#include "experiment/emission_file.h"
#include "experiment/fallback.h"
#include "experiment/pair.h"
#include "loader/address_proof.h"
#include "loader/verify.h"
#include "os/file/file.h"
#include "os/file/trust.h"
#include "store/result_reader.h"
#include "store/summary/labels.h"
#include "store/summary/rig_verdict.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFioFooter =
    R"(DIR gets the job file, its iologs and run.sh, which starts fio with them, and
can be moved. The data set must lie where the run read it: docs/fio-twin.md.
Runs and their numbers: runs.csv of a report, or SELECT run_id FROM run.

examples:
  blksweep fio 1 --db results.db -o twin && sh twin/run.sh
  blksweep fio 17 --db results.db -o plain --arm plain
  blksweep fio 17 --db results.db -o /tmp/twin --follow-links)";

struct FioOptions {
  std::uint64_t run = 0;
  std::string db, out, arm = "grouped";
  bool follow_links = false;
};

struct FoundRun {
  StoredRun stored;
  CellRecord cell;
  CommandRecord command;
};

Result<FoundRun> find_run(const FioOptions& o) {
  BLKSWEEP_TRY(ResultReader reader, ResultReader::open(o.db));
  BLKSWEEP_TRY(const auto experiments, reader.experiments());
  for (const StoredExperiment& e : experiments) {
    BLKSWEEP_TRY(const auto runs, reader.runs(e.id));
    const auto run = std::ranges::find(runs, static_cast<std::int64_t>(o.run), &StoredRun::id);
    if (run == runs.end()) {
      continue;
    }
    BLKSWEEP_TRY(const auto cells, reader.cells(e.id));
    const auto cell = std::ranges::find(cells, run->cell_id, &StoredCell::id);
    BLKSWEEP_TRY(const auto command, reader.command(run->run.session_id.value_or(0)));
    if (cell == cells.end() || !command || !command->data_root) {
      return fail(fmt::format("{}: run {}: it is not stored where its data set was", o.db, o.run));
    }
    return FoundRun{*run, cell->cell, *command};
  }
  return fail(fmt::format("{} has no run {}: SELECT run_id FROM run lists them", o.db, o.run));
}

// The catalog that the run was made from, while it is there; else its folder.
SourceSettings origin_of(const CommandRecord& command, bool follow_links) {
  SourceSettings s;
  s.follow_links = follow_links;
  std::error_code ignored;
  if (command.catalog && fs::exists(*command.catalog, ignored)) {
    s.catalog = *command.catalog;
  } else {
    s.data = *command.data_root;
  }
  return s;
}

// The cell as it can run here, which must be the one that ran.
Result<CellSettings> cell_of(const FoundRun& run, const Source& source) {
  if (const std::string control = control_of(run.cell); !control.empty()) {
    return unsupported(
        fmt::format("run {} is of the control {}, which has no twin", run.stored.id, control));
  }
  BLKSWEEP_TRY(const CellSettings stored, stored_settings(run.cell));
  if (!stored.peer.empty()) {
    return unsupported(fmt::format("run {} is of the peer {}, whose reads are its own",
                                   run.stored.id, stored.peer));
  }
  return settle(stored, find_refusals(source, {&stored, 1}));
}

Result<> refuse_other_files(const FoundRun& run, const Source& source,
                            const PlannedEpoch& planned) {
  const RunRecord& r = run.stored.run;
  if (r.layout && *r.layout != layout_hash(source.catalog)) {
    return fail(fmt::format(
        "run {}: the files of {} are not where they were when it ran: their extents have moved, "
        "and fio would read other addresses: measure again",
        run.stored.id, source.catalog.root));
  }
  const bool whole = r.missing_samples == 0 && !r.incomplete;
  if (whole && emission_hash(planned_emission(planned).samples) != r.emission_hash) {
    return fail(fmt::format(
        "run {}: the files of {} are others now, or this blksweep plans another order: measure "
        "again",
        run.stored.id, source.catalog.root));
  }
  return {};
}

std::string settings_text(const CellRecord& cell) {
  std::string text;
  for (const auto& [name, value] : cell.settings) {
    text += value == "-" ? "" : fmt::format("    {} = {}\n", name, value);
  }
  return text;
}

std::string readme(const FoundRun& run, const FioTwin& twin, const FioOptions& o) {
  const Maybe<FioRecord>& stored = o.arm == "plain" ? run.stored.run.fio_plain : run.stored.run.fio;
  const std::string then =
      stored ? fmt::format("In the run's session fio ({}) read {} bytes in {}.\n", stored->version,
                           stored->read_bytes, format_duration(Nanos{stored->runtime_ns}))
             : std::string("The run's session had no such twin.\n");
  return fmt::format(
      "# The fio twin of run {} of {} ({})\n\n"
      "    sh run.sh\n\n"
      "starts fio with the run's reads in their order: {} reads of {} bytes. Options of fio may "
      "follow.\n{}\n"
      "The caches are as they are: of a cold run drop them first (`blksweep cache drop {}`).\n"
      "fio that ends with an error of registered buffers meets the limit of locked memory: delete\n"
      "`fixedbufs=1` from twin.fio, or raise it (`ulimit -l`). A plan that reads the block device\n"
      "needs the right to.\n\n"
      "Settings of the run (seed {}):\n\n{}",
      run.stored.id, o.db, o.arm, twin.iologs().reads, twin.iologs().bytes, then,
      *run.command.data_root, run.stored.run.seed, settings_text(run.cell));
}

Result<> begin_empty_folder(const std::string& out) {
  BLKSWEEP_CHECK(make_folder_of_own(out));
  std::error_code error;
  if (!fs::is_empty(out, error) || error) {
    return fail(out + " is not empty: name another folder with -o");
  }
  return {};
}

// What stands there is ours: it was empty.
void clear_folder(const std::string& out) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(out, ignored)) {
    fs::remove(entry.path(), ignored);
  }
}

Result<FioTwin> write_folder(const FioOptions& o, const FoundRun& run, const Source& source,
                             const PairRequest& request) {
  BLKSWEEP_TRY(const FioSettings fio, twin_settings(request, o.arm == "grouped"));
  BLKSWEEP_CHECK(begin_empty_folder(o.out));
  auto twin = FioTwin::write_to(o.out, source.catalog, request.planned.plan, fio);
  Result<> done = twin ? write_file(o.out + "/README.md", readme(run, *twin, o))
                       : Result<>(tl::unexpected(twin.error()));
  if (!done) {
    clear_folder(o.out);
    return tl::unexpected(done.error());
  }
  return twin;
}

Result<Exit> fio(const FioOptions& o) {
  BLKSWEEP_TRY(const FoundRun run, find_run(o));
  BLKSWEEP_TRY(const Source whole, open_source(origin_of(run.command, o.follow_links)));
  BLKSWEEP_TRY(const CellSettings cell, cell_of(run, whole));
  const Source source = part_of(whole, cell.read_share);
  BLKSWEEP_TRY(const PlannedEpoch planned, plan_epoch(source, cell, run.stored.run.seed));
  BLKSWEEP_CHECK(refuse_other_files(run, source, planned));
  const std::atomic<bool> stop{false};
  const StageMakers makers;
  BLKSWEEP_TRY(const FioTwin twin, write_folder(o, run, source,
                                                {.source = source,
                                                 .cell = cell,
                                                 .planned = planned,
                                                 .arms = {},
                                                 .stop = stop,
                                                 .makers = makers}));
  for (const std::string& text : twin.warnings()) {
    warn(text);
  }
  say("{}: {} reads of {} in {} iolog{}: sh {}/run.sh\n", o.out, format_count(twin.iologs().reads),
      format_bytes({twin.iologs().bytes}), twin.iologs().segments.size(),
      twin.iologs().segments.size() == 1 ? "" : "s", o.out);
  return Exit::done;
}

}  // namespace

void add_fio(Verbs& verbs) {
  Command app = verbs.root.add_subcommand("fio", "the fio twin of a stored run, to run by hand");
  const auto o = std::make_shared<FioOptions>();
  app.add_option("RUN", o->run, "run_id of the run in the database").required();
  app.add_option("--db", o->db, "results database that run wrote").required();
  app.add_option("-o,--output", o->out, "new or empty folder").required();
  const auto arm = [](const std::string& text) -> Result<std::string> {
    return text == "grouped" || text == "plain"
               ? Result<std::string>(text)
               : usage_error(fmt::format("'{}' is not grouped or plain", text));
  };
  add_parsed(app, "--arm", o->arm, arm,
             "grouped (default): as blksweep submits; plain: one by one");
  app.add_flag("--follow-links", o->follow_links, "as the run had it");
  app.footer(kFioFooter);
  app.callback([&verbs, o] { verbs.action = [o] { return fio(*o); }; });
}

}  // namespace blksweep
