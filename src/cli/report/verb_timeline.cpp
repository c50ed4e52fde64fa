// blksweep timeline: one stored epoch as lanes over time, for ui.perfetto.dev.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>

#include "base/log.h"
#include "base/table.h"
#include "base/units.h"
#include "cli/answer.h"
#include "cli/report/experiments.h"
#include "cli/verb.h"
#include "os/file/file.h"
#include "os/file/kept_files.h"
#include "store/export/trace_events.h"
#include "store/summary/labels.h"

namespace blksweep {
namespace {

constexpr const char* kTimelineFooter =
    R"(RUN is a run's number, or CELL/REPEAT; without RUN the runs are listed.
Open the file at ui.perfetto.dev or chrome://tracing; it stays in the browser.

Examples:
  blksweep timeline --db results.db
  blksweep timeline 3 --db results.db -o trace.json
  blksweep timeline 2/0 --db results.db -o - > trace.json)";

constexpr std::size_t kNamedRuns = 6;  // in an error

struct TimelineOptions {
  std::string run, db = "results.db", out;
};

struct Stored {
  JoinedExperiments joined;
  std::vector<std::string> labels;  // of joined.input.cells
};

Result<Stored> load(ResultReader& reader, const std::string& db) {
  Stored stored;
  BLKSWEEP_TRY(stored.joined, join_experiments(reader, {db, "all"}));
  std::vector<CellRecord> cells;
  for (const StoredCell& c : stored.joined.input.cells) {
    cells.push_back(c.cell);
  }
  stored.labels = cell_labels(cells);
  return stored;
}

std::size_t cell_index(const Stored& stored, std::int64_t cell) {
  const auto& cells = stored.joined.input.cells;
  return static_cast<std::size_t>(std::ranges::find(cells, cell, &StoredCell::id) - cells.begin());
}

std::string label_of(const Stored& stored, const StoredRun& run) {
  return fmt::format("{}, repeat {}", stored.labels[cell_index(stored, run.cell_id)],
                     run.run.repeat);
}

// "3" is a run; "2/0" the newest complete run of a cell and repeat, or the newest where none is.
const StoredRun* find_run(const std::vector<StoredRun>& runs, const std::string& name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string::npos) {
    const auto at = std::ranges::find_if(
        runs, [&](const StoredRun& r) { return std::to_string(r.id) == name; });
    return at == runs.end() ? nullptr : &*at;
  }
  const StoredRun* best = nullptr;
  for (const StoredRun& r : runs) {
    const bool named = std::to_string(r.cell_id) == name.substr(0, slash) &&
                       std::to_string(r.run.repeat) == name.substr(slash + 1);
    if (named && (best == nullptr || best->run.incomplete || !r.run.incomplete)) {
      best = &r;
    }
  }
  return best;
}

Error unknown_run(const Stored& stored, const TimelineOptions& options) {
  const std::vector<StoredRun>& runs = stored.joined.input.runs;
  std::string list;
  for (const StoredRun& r : std::span(runs).first(std::min(runs.size(), kNamedRuns))) {
    list += fmt::format("{}{} {}", list.empty() ? "" : "; ", r.id, label_of(stored, r));
  }
  const std::string rest = runs.size() <= kNamedRuns
                               ? ""
                               : fmt::format("; {} more ('blksweep timeline --db {}' lists them)",
                                             runs.size() - kNamedRuns, options.db);
  return usage_error(fmt::format("RUN: '{}' is not in {}; {}", options.run, options.db,
                                 runs.empty() ? "it has no run" : "runs: " + list + rest))
      .value();
}

void list_runs(const Stored& stored) {
  Table table;
  table.column("run");
  table.column("cell/repeat");
  table.column("cell", Table::Align::left);
  table.column("epoch");
  table.column("state", Table::Align::left);
  for (const StoredRun& r : stored.joined.input.runs) {
    table.row({std::to_string(r.id), fmt::format("{}/{}", r.cell_id, r.run.repeat),
               stored.labels[cell_index(stored, r.cell_id)], format_duration(Nanos(r.run.epoch_ns)),
               r.run.incomplete ? "incomplete: " + r.run.incomplete_reason : "complete"});
  }
  say_text(table.text());
}

Result<HostRecord> host_of(ResultReader& reader, const Stored& stored, std::int64_t cell) {
  for (const StoredExperiment& e : stored.joined.experiments) {
    BLKSWEEP_TRY(const std::vector<StoredCell> cells, reader.cells(e.id));
    if (std::ranges::find(cells, cell, &StoredCell::id) != cells.end()) {
      return e.host;
    }
  }
  return HostRecord{};
}

// Everything of one run that a timeline shows.
Result<TraceRun> load_run(ResultReader& reader, const Stored& stored, const StoredRun& found) {
  TraceRun trace;
  trace.run_id = found.id;
  trace.label = label_of(stored, found);
  BLKSWEEP_TRY(trace.host, host_of(reader, stored, found.cell_id));
  trace.run = found.run;
  BLKSWEEP_TRY(trace.run.batches, reader.batches(found.id));
  if (trace.run.probe) {
    BLKSWEEP_TRY(trace.run.probe->series, reader.depth_series(found.id));
    BLKSWEEP_TRY(trace.run.probe->issues, reader.issue_series(found.id));
  }
  trace.cell = stored.joined.input.cells[cell_index(stored, found.cell_id)].cell;
  return trace;
}

Result<> write(const std::string& path, const std::string& text) {
  if (path != "-") {
    return write_file(path, text);
  }
  say_text(text);
  return finish_answer();
}

Result<Exit> timeline(const TimelineOptions& options) {
  BLKSWEEP_TRY(ResultReader reader, ResultReader::open(options.db));
  BLKSWEEP_TRY(const Stored stored, load(reader, options.db));
  if (options.run.empty()) {
    list_runs(stored);
    return Exit::done;
  }
  const StoredRun* found = find_run(stored.joined.input.runs, options.run);
  if (found == nullptr) {
    return tl::unexpected(unknown_run(stored, options));
  }
  if (options.out.empty()) {
    return usage_error("say where the timeline goes: -o trace.json, or -o - for stdout");
  }
  if (options.out != "-") {
    BLKSWEEP_CHECK(check_kept("-o", options.out, {.files = {options.db}}));
    BLKSWEEP_CHECK(check_timeline_place(options.out));
  }
  BLKSWEEP_TRY(const TraceRun trace, load_run(reader, stored, *found));
  if (trace.run.incomplete) {
    warn(fmt::format("run {} is incomplete: {}", found->id, trace.run.incomplete_reason));
  }
  BLKSWEEP_CHECK(write(options.out, trace_events(trace)));
  note(fmt::format("timeline: {} batches of run {} ({}): open it at ui.perfetto.dev",
                   format_count(trace.run.batches.size()), found->id, trace.label));
  return Exit::done;
}

}  // namespace

void add_timeline(Verbs& verbs) {
  Command app =
      verbs.root.add_subcommand("timeline", "lanes of one stored epoch over time, for Perfetto");
  const auto options = std::make_shared<TimelineOptions>();
  app.add_option("RUN", options->run, "run, or CELL/REPEAT; none: list the runs");
  app.add_option("-o,--output", options->out, "file to write; - for stdout");
  app.add_option("--db", options->db, "results database (results.db)");
  app.footer(kTimelineFooter);
  app.callback([&verbs, options] { verbs.action = [options] { return timeline(*options); }; });
}

}  // namespace blksweep
