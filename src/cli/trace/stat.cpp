// blksweep trace stat: what a trace is like, printed and, if asked for, kept for the report.
#include <fmt/format.h>

#include <memory>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/answer.h"
#include "cli/status_line.h"
#include "cli/trace/stat_text.h"
#include "cli/verb.h"
#include "cli/version.h"
#include "os/hostfacts.h"
#include "os/process/signals.h"
#include "store/result_store.h"
#include "trace/access_sample.h"
#include "trace/trace_facts.h"

namespace blksweep {
namespace {

constexpr const char* kStatFooter =
    R"(examples:
  blksweep trace stat src1.trace
  blksweep trace stat src1.trace --json
  blksweep trace stat src1.trace --db traces.db)";

struct StatOptions {
  std::string trace, db;
  bool json = false;
};

struct Looked {
  TraceStat stat;
  AccessSample sample;
};

Result<> look_at(TraceReader& reader, Looked& looked) {
  StatusLine line(std::chrono::milliseconds(200), std::chrono::seconds(10));
  std::vector<TraceRecord> block;
  for (;;) {
    BLKSWEEP_TRY(const bool some, reader.next(block));
    if (!some) {
      line.clear();
      return {};
    }
    if (stop_requested()) {
      return fail("interrupted", Exit::interrupted);
    }
    for (const TraceRecord& r : block) {
      looked.stat.add(r);
      looked.sample.add(r);
    }
    if (line.due()) {
      line.show(fmt::format("{} requests", format_count(looked.stat.requests())));
    }
  }
}

void add_curves(TraceRow& row, const TraceStat& stat) {
  const auto step_ns = static_cast<double>(stat.rate().step_ns());
  const auto& steps = stat.rate().steps();
  // The last step ends with the trace, somewhere in the middle.
  for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
    const double begin = static_cast<double>(i) * step_ns;
    row.curves.push_back({"rate", begin, static_cast<double>(steps[i].requests) * 1e9 / step_ns});
    if (stat.tells_depth()) {
      row.curves.push_back({"depth", begin, steps[i].in_flight_ns / step_ns});
    }
  }
  for (const MissRatio::Point& p : stat.blocks().curve()) {
    row.curves.push_back({"misses", static_cast<double>(p.cached * kStatBlock), p.misses});
  }
}

TraceRow trace_row(const StatOptions& o, const TraceReader& reader, const Looked& looked,
                   const std::vector<std::string>& argv) {
  TraceRow row;
  row.trace = o.trace;
  row.trace_kind = name_of(reader.facts().kind);
  const TraceStat& stat = looked.stat;
  row.requests = stat.requests();
  row.reads = stat.count(TraceOp::read);
  row.footprint_bytes = static_cast<std::uint64_t>(stat.blocks().keys()) * kStatBlock;
  row.duration_ns = stat.duration_ns();
  row.gap_variation = stat.gap_variation();
  row.sequential = stat.sequential();
  row.miss_ratio_error = stat.blocks().error();
  row.timing = reader.facts().synthetic_times ? "synthetic" : "measured";
  row.document = json_line(stat_json(reader, stat));
  row.started_unix_ns = unix_ns();
  const HostFacts host = read_host_facts();
  row.hostname = host.hostname;
  row.kernel = host.kernel;
  row.tool_version = version();
  row.git_revision = git_revision();
  row.argv = joined(argv, " ");
  add_curves(row, stat);
  for (const SampledAccess& a : looked.sample.accesses(reader.names())) {
    row.accesses.push_back({a.time_ns, a.address, a.bytes, name_of(a.op)});
  }
  return row;
}

Result<Exit> run_stat(const StatOptions& o, const std::vector<std::string>& argv) {
  BLKSWEEP_TRY(TraceReader reader, TraceReader::open(o.trace));
  install_stop_signals();
  Looked looked;
  BLKSWEEP_CHECK(look_at(reader, looked));
  if (!o.db.empty()) {
    BLKSWEEP_TRY(ResultStore store, ResultStore::open(o.db));
    BLKSWEEP_CHECK(store.add_trace(trace_row(o, reader, looked, argv)));
  }
  for (const std::string& defect : defects_of(reader.facts())) {
    warn(fmt::format("{}: {}", o.trace, defect));
  }
  if (const std::uint64_t cut = looked.stat.cut(); cut > 0) {
    warn(fmt::format("{}: footprint and LRU cache have only the first {} of {} longer requests",
                     o.trace, format_bytes({kStatMost}), format_count(cut)));
  }
  say_text(o.json ? json_text(stat_json(reader, looked.stat)) + "\n"
                  : stat_text(reader, looked.stat));
  return reader.whole() ? Exit::done : Exit::incomplete;
}

}  // namespace

void add_trace_stat(Verbs& verbs, Command trace) {
  Command app = trace.add_subcommand("stat", "sizes, rates, depth, sequentiality, miss ratios");
  auto o = std::make_shared<StatOptions>();
  app.add_option("TRACE", o->trace, "a file that trace import or record wrote").required();
  app.add_option("--db", o->db, "keep it in this results database, for report's figures");
  app.add_flag("--json", o->json, "print one JSON document");
  app.footer(kStatFooter);
  app.callback([&verbs, o] { verbs.action = [&verbs, o] { return run_stat(*o, verbs.argv); }; });
}

}  // namespace blksweep
