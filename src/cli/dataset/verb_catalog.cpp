#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "base/json.h"
#include "base/log.h"
#include "cli/answer.h"
#include "cli/verb.h"
#include "dataset/catalog_file.h"
#include "dataset/catalog_summary.h"
#include "dataset/extent_check.h"
#include "dataset/scan.h"
#include "os/file/kept_files.h"
#include "os/process/signals.h"
#include "replay/read_samples.h"
#include "trace/trace_facts.h"

namespace blksweep {
namespace {

constexpr const char* kCatalogFooter =
    R"(The label of a sample is its class folder: the first folder below DIR (of a tar
member: in its name). Files that end in .tar are read as one sample per member.
Exit 3 when a file is left out that should be a sample: unreadable, vanished,
a damaged tar, too large. The catalog holds the others.

Examples:
  blksweep catalog /data/imagenet -o imagenet.cat
  blksweep catalog /data/packed --records 4KiB -o packed.cat
  blksweep catalog imagenet/ --trace epoch.trace -o epoch.cat
  blksweep catalog --check imagenet.cat)";

struct CatalogOptions {
  std::string directory, output, check;
  ScanSettings scan;
  std::string trace;
  bool tar = false, no_tar = false, json = false;
};

Json to_json(const CatalogOptions& o, const CatalogParts& parts, const ScanReport& report) {
  const CatalogSummary s = summarize(parts.view());
  Json odd = Json::object();
  for (std::size_t i = 0; i < kOddities; ++i) {
    odd[std::string(to_string(static_cast<Oddity>(i)))] = report.odd[i].count;
  }
  return {{"catalog", o.output},
          {"root", parts.root},
          {"filesystem", report.filesystem},
          {"device", parts.device_node},
          {"partition_start_bytes", parts.partition_start},
          {"device_readable", parts.device_readable},
          {"files", s.files},
          {"samples", s.samples},
          {"bytes", s.bytes},
          {"labels", s.labels},
          {"extents", s.extents},
          {"extents_per_file_mean", s.extents_mean},
          {"extents_per_file_max", s.extents_max},
          {"fragmented_share", s.fragmented_share},
          {"adjacent_path", or_null(s.adjacent_path)},
          {"adjacent_inode", or_null(s.adjacent_inode)},
          {"adjacent_lba", or_null(s.adjacent_lba)},
          {"extent_flags",
           {{"unwritten", s.unwritten},
            {"inline", s.inline_data},
            {"encoded", s.encoded},
            {"shared", s.shared},
            {"no_address", s.no_address},
            {"unaligned", s.unaligned}}},
          {"counts", odd},
          {"walk_ns", report.walk_ns},
          {"extents_ns", report.extents_ns},
          {"scan_ns", report.total_ns},
          {"warnings", report.warnings}};
}

std::string percent(const std::optional<double>& share) {
  return share ? fmt::format("{:.1f} %", *share * 100) : "unknown";
}

std::string flags_text(const CatalogSummary& s) {
  std::string out;
  const auto add = [&out](std::uint64_t n, const char* name) {
    if (n > 0) {
      out += fmt::format("{}{} {}", out.empty() ? "" : ", ", format_count(n), name);
    }
  };
  add(s.unwritten, "unwritten");
  add(s.inline_data, "inline");
  add(s.encoded, "encoded");
  add(s.shared, "shared");
  add(s.no_address, "without address");
  add(s.unaligned, "unaligned");
  return out.empty() ? "none" : out;
}

void print_text(const CatalogOptions& o, const CatalogParts& parts, const ScanReport& report) {
  const CatalogSummary s = summarize(parts.view());
  say("root        {} ({}{}{})\n", parts.root, report.filesystem,
      parts.device_node.empty() ? "" : " on ", parts.device_node);
  say("files       {}\n", format_count(s.files));
  say("samples     {}, {}, {} labels\n", format_count(s.samples), format_bytes({s.bytes}),
      format_count(s.labels));
  say("extents     {}: {:.2f} per file, at most {}; {:.1f} % of files have more than one\n",
      format_count(s.extents), s.extents_mean, format_count(s.extents_max),
      s.fragmented_share * 100);
  say("flags       {}\n", flags_text(s));
  say("adjacent    path {}, inode {}, lba {} of neighbours\n", percent(s.adjacent_path),
      percent(s.adjacent_inode), percent(s.adjacent_lba));
  for (std::size_t i = 0; i < kOddities; ++i) {
    if (report.odd[i].count > 0) {
      say("{:<11} {}: {}\n", "counted", explain(static_cast<Oddity>(i)),
          format_count(report.odd[i].count));
    }
  }
  say("scan        {} ({} walking, {} opening)\n", format_duration(Nanos{report.total_ns}),
      format_duration(Nanos{report.walk_ns}), format_duration(Nanos{report.extents_ns}));
  if (!o.output.empty()) {
    say("written     {}\n", o.output);
  }
}

// stderr: the first files of each kind, and warnings.
void tell_oddities(const ScanReport& report) {
  for (std::size_t i = 0; i < kOddities; ++i) {
    const OddityCount& c = report.odd[i];
    for (const std::string& name : c.named) {
      note(fmt::format("{}: {}", name, explain(static_cast<Oddity>(i))));
    }
    if (c.count > c.named.size()) {
      note(fmt::format("... and {} more: {}", format_count(c.count - c.named.size()),
                       explain(static_cast<Oddity>(i))));
    }
  }
  for (const std::string& text : report.warnings) {
    warn(text);
  }
}

Result<> take_trace(const CatalogOptions& o, CatalogParts& catalog) {
  BLKSWEEP_TRY(TraceReader trace, TraceReader::open(o.trace));
  install_stop_signals();
  BLKSWEEP_TRY(const LeftOut left_out, take_reads(trace, catalog, stop_requested()));
  for (const auto& [reason, count] : left_out) {
    warn(fmt::format("{}: left out: {} {}", o.trace, format_count(count), reason));
  }
  for (const std::string& defect : defects_of(trace.facts())) {
    warn(fmt::format("{}: {}", o.trace, defect));
  }
  return {};
}

Result<Exit> scan_to_file(const CatalogOptions& o) {
  ScanReport report;
  auto scanned = scan(o.directory, o.scan, report);
  if (!o.trace.empty()) {
    report.odd[static_cast<std::size_t>(Oddity::empty_file)] = {};  // samples are the reads
  }
  tell_oddities(report);
  if (!scanned) {
    return tl::unexpected(scanned.error());
  }
  if (!o.trace.empty()) {
    BLKSWEEP_CHECK(take_trace(o, *scanned));
  }
  if (!o.output.empty()) {
    BLKSWEEP_CHECK(write_catalog(o.output, *scanned));
  }
  if (o.json) {
    say_text(json_line(to_json(o, *scanned, report)) + "\n");
  } else {
    print_text(o, *scanned, report);
  }
  return report.missing() > 0 ? Exit::incomplete : Exit::done;
}

Json texts_json(const std::vector<ChangedFile>& files) {
  Json out = Json::array();
  for (const ChangedFile& c : files) {
    out.push_back(c.text);
  }
  return out;
}

Result<Exit> check_file(const CatalogOptions& o) {
  BLKSWEEP_TRY(const CatalogFile file, CatalogFile::open(o.check));
  BLKSWEEP_TRY(const ExtentCheck check, check_extents(file.view()));
  if (o.json) {
    const Json j{{"catalog", o.check},
                 {"files", check.files},
                 {"changed", texts_json(check.changed)},
                 {"moved", texts_json(check.moved)},
                 {"unplaced", check.unplaced}};
    say_text(json_line(j) + "\n");
  } else {
    for (const auto* files : {&check.changed, &check.moved}) {
      for (const ChangedFile& c : *files) {
        say("{}\n", c.text);
      }
    }
    say("{} of {} files differ from {}, {} lie elsewhere on the device{}\n",
        format_count(check.changed.size()), format_count(check.files), o.check,
        format_count(check.moved.size() - check.unplaced),
        check.unplaced > 0 ? fmt::format(", {} have no address here (btrfs: to root alone)",
                                         format_count(check.unplaced))
                           : "");
  }
  return check.clean() ? Exit::done : Exit::failed;
}

Result<Exit> run_catalog(CatalogOptions& o) {
  if (o.check.empty() == o.directory.empty()) {
    return usage_error("catalog: name a directory to scan, or a catalog with --check FILE");
  }
  if (!o.check.empty()) {
    return check_file(o);
  }
  if (o.output.empty()) {
    return usage_error("catalog: say where to write the catalog with -o FILE");
  }
  if (!o.trace.empty() && (o.tar || o.scan.records.n > 0)) {
    return usage_error("catalog: --trace makes samples of the reads; --tar and --records do, too");
  }
  BLKSWEEP_CHECK(check_kept("-o", o.output, {.files = {o.trace}, .data_set = o.directory}));
  BLKSWEEP_CHECK(check_catalog_place(o.output));
  o.scan.tar = !o.trace.empty() ? TarMode::never
               : o.tar          ? TarMode::always
               : o.no_tar       ? TarMode::never
                                : TarMode::by_name;
  return scan_to_file(o);
}

}  // namespace

void add_catalog(Verbs& verbs) {
  Command app = verbs.root.add_subcommand("catalog", "scan a data set: samples and their extents");
  auto o = std::make_shared<CatalogOptions>();
  app.add_option("DIR", o->directory, "the data set's directory");
  app.add_option("-o,--output", o->output, "catalog file to write").metavar("FILE");
  app.add_option("--check", o->check, "compare it with the files; exit 1 if any changed or moved")
      .metavar("FILE");
  add_parsed(app, "--records", o->scan.records, parse_bytes, "each file is records of this size");
  Option tar = app.add_flag("--tar", o->tar, "read every file as a tar, whatever its name");
  app.add_flag("--no-tar", o->no_tar, "one sample per file, also for .tar").excludes(tar);
  app.add_option("--trace", o->trace, "each read of this file trace is a sample, in its order")
      .metavar("FILE");
  app.add_flag("--follow-links", o->scan.follow_links, "also symbolic links that lead out of DIR");
  app.add_flag("--json", o->json, "print one JSON document");
  app.footer(kCatalogFooter);
  app.callback([&verbs, o] { verbs.action = [o] { return run_catalog(*o); }; });
}

}  // namespace blksweep
