// blksweep trace: import, export and look at traces.
#include <fmt/format.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/log.h"
#include "base/units.h"
#include "cli/answer.h"
#include "cli/verb.h"
#include "os/file/kept_files.h"
#include "os/process/signals.h"
#include "trace/export.h"
#include "trace/import/import.h"
#include "trace/trace_facts.h"
#include "trace/trace_file.h"

namespace blksweep {
namespace {

constexpr const char* kTraceFooter =
    R"(Examples:
  blksweep trace import msr/src1_1.csv.gz -o src1.trace
  blksweep trace import sda.blktrace.* -o sda.trace
  blksweep trace stat src1.trace
  blksweep trace export src1.trace --format iolog -o src1.log)";

constexpr const char* kImportExamples =
    R"(

examples:
  blksweep trace import src1_1.csv.gz -o src1.trace
  blksweep trace import sda.blktrace.* -o sda.trace
  blksweep trace import cbs.csv --format tencent --skip-bad 10 -o cbs.trace)";

constexpr const char* kExportFooter =
    R"(examples:
  blksweep trace export src1.trace --format csv -o src1.csv
  blksweep trace export src1.trace --format iolog -o src1.log
  blksweep trace export src1.trace --format blktrace -o src1.blktrace.0)";

struct ImportOptions {
  ImportSettings settings;
  std::string time_unit;
  bool queued = false, json = false;
};

struct ExportOptions {
  std::string trace, format, output;
};

std::string format_list() {
  std::string out = "Formats:\n";
  for (const TraceFormat& f : trace_formats()) {
    out += fmt::format("  {:<10} {}\n", f.name, f.about);
  }
  return out + "Plain, or in gzip, bzip2, xz, zstd, or tar of them.";
}

Result<std::optional<std::int64_t>> parse_time_unit(const std::string& text) {
  for (const auto& [name, ns] :
       {std::pair("ns", std::int64_t{1}), std::pair("us", std::int64_t{1'000}),
        std::pair("ms", std::int64_t{1'000'000}), std::pair("s", std::int64_t{1'000'000'000})}) {
    if (text == name) {
      return ns;
    }
  }
  return text.empty() ? Result<std::optional<std::int64_t>>(std::nullopt)
                      : usage_error(fmt::format("--time-unit {}: ns, us, ms or s", text));
}

void warn_of_facts(const std::string& name, const TraceFacts& facts) {
  for (const std::string& defect : defects_of(facts)) {
    warn(fmt::format("{}: {}", name, defect));
  }
}

Result<Exit> run_import(ImportOptions o) {
  BLKSWEEP_CHECK(check_kept("-o", o.settings.output, {.files = o.settings.inputs}));
  BLKSWEEP_CHECK(check_trace_place(o.settings.output));
  BLKSWEEP_TRY(o.settings.options.time_unit_ns, parse_time_unit(o.time_unit));
  o.settings.options.action = o.queued ? 'Q' : 'D';
  install_stop_signals();
  BLKSWEEP_TRY(const ImportReport report, import_trace(o.settings, stop_requested()));
  warn_of_facts(o.settings.output, report.facts);
  if (o.json) {
    Json document = json_of(report.facts);
    document["records"] = report.records;
    document["members"] = report.members;
    say_json(document);
    return Exit::done;
  }
  say("format      {}\n", report.facts.format);
  say("accesses    {} in {} {}\n", format_count(report.records), format_count(report.places),
      report.facts.kind == TraceKind::block ? "volumes" : "files");
  if (report.facts.reordered > 0) {
    say("sorted      {} were out of order\n", format_count(report.facts.reordered));
  }
  say("written     {}\n", o.settings.output);
  return Exit::done;
}

Result<Exit> run_export(const ExportOptions& o) {
  BLKSWEEP_CHECK(check_kept("-o", o.output, {.files = {o.trace}}));
  BLKSWEEP_TRY(const ExportFormat format, parse_export_format(o.format));
  BLKSWEEP_TRY(TraceReader reader, TraceReader::open(o.trace));
  install_stop_signals();
  BLKSWEEP_TRY(const ExportReport report, export_trace(reader, format, o.output, stop_requested()));
  warn_of_facts(o.trace, reader.facts());
  if (!reader.whole()) {
    warn(o.trace + ": its writer did not finish: what follows its last whole block is missing");
  }
  if (report.left_out > 0) {
    warn(fmt::format("{} accesses are left out: {} has no such thing", report.left_out, o.format));
  }
  say("accesses    {}\n", format_count(report.records));
  say("written     {}\n", o.output);
  return Exit::done;
}

void add_import(Verbs& verbs, Command trace) {
  Command app = trace.add_subcommand("import", "a public trace into a trace file");
  auto o = std::make_shared<ImportOptions>();
  app.add_option("FILE", o->settings.inputs, "parts of one trace").required();
  app.add_option("-o,--output", o->settings.output, "the trace file to write").required();
  app.add_option("--format", o->settings.format, "which of those below; default: by content");
  app.add_option("--time-unit", o->time_unit, "of disksim, and of waits in iologs: ns, us, ms, s");
  app.add_flag("--queued", o->queued, "blktrace: when requests were queued, not issued");
  app.add_flag("--spread", o->settings.spread,
               "spread accesses over the steps of a coarse clock; marked synthetic");
  add_parsed(app, "--skip-bad", o->settings.skip_bad, parse_count,
             "pass over so many bad lines; default 0");
  app.add_flag("--json", o->json, "print one JSON document");
  app.footer(format_list() + kImportExamples);
  app.callback([&verbs, o] { verbs.action = [o] { return run_import(*o); }; });
}

void add_export(Verbs& verbs, Command trace) {
  Command app = trace.add_subcommand("export", "a trace file in another format");
  auto o = std::make_shared<ExportOptions>();
  app.add_option("TRACE", o->trace, "a file that trace import or record wrote").required();
  app.add_option("--format", o->format, "csv, iolog (fio, version 3) or blktrace").required();
  app.add_option("-o,--output", o->output, "the file to write").required();
  app.footer(kExportFooter);
  app.callback([&verbs, o] { verbs.action = [o] { return run_export(*o); }; });
}

}  // namespace

void add_trace(Verbs& verbs) {
  Command app = verbs.root.add_subcommand("trace", "record, import, export and summarise traces");
  app.require_subcommand();
  app.footer(kTraceFooter);
  add_trace_record(verbs, app);
  add_import(verbs, app);
  add_export(verbs, app);
  add_trace_stat(verbs, app);
}

}  // namespace blksweep
