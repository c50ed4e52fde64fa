#include "cli/probe/file_traffic.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/units.h"
#include "cli/probe/counts.h"
#include "dataset/extent_check.h"
#include "experiment/record/attribution_record.h"
#include "os/file/file.h"
#include "os/process/process_id.h"
#include "store/export/json.h"

namespace blksweep {
namespace {

constexpr std::size_t kShownPaths = 10;

std::uint64_t all_bytes(const FileTraffic& t) {
  std::uint64_t all = 0;
  for (const ReadTraffic& c : t.found.classes) {
    all += c.bytes;
  }
  return all;
}

std::string mean_text(const ReadTraffic& t) {
  const auto mean = t.latency_mean_ns();
  return mean ? format_duration(Nanos(static_cast<std::int64_t>(*mean))) : "-";
}

std::string row_of(const ReadTraffic& t, std::uint64_t all, std::string_view name) {
  return fmt::format("  {:>9} {:>6.1f} % {:>10} {:>9}  {}\n", format_bytes(Bytes{t.bytes}),
                     100 * share_of(t.bytes, all), format_count(t.requests), mean_text(t), name);
}

std::string heading_of(std::string_view what) {
  return fmt::format("  {:>9} {:>8} {:>10} {:>9}  {}\n", "bytes", "share", "requests", "latency",
                     what);
}

std::string classes_text(const FileTraffic& t, std::uint64_t all) {
  std::string out = heading_of("what for");
  for (const ReadClass c : kReadClasses) {
    if (t.found.of(c).requests > 0) {
      out += row_of(t.found.of(c), all, to_string(c));
    }
  }
  ReadTraffic writes;
  writes.requests = t.others.writes;
  writes.bytes = t.others.write_bytes;
  return out + (writes.requests == 0 ? ""
                                     : fmt::format("  {:>9} {:>8} {:>10} {:>9}  writes\n",
                                                   format_bytes(Bytes{writes.bytes}), "-",
                                                   format_count(writes.requests), "-"));
}

std::string paths_text(const char* what, const std::vector<PathTraffic>& paths, std::uint64_t all) {
  std::string out = paths.empty() ? "" : heading_of(what);
  for (std::size_t i = 0; i < std::min(paths.size(), kShownPaths); ++i) {
    out += row_of(paths[i].traffic, all, printable(paths[i].path));
  }
  return out;
}

// Of one that has ended nobody knows any more, whoever has its number now.
std::string command_of(const ProcessTraffic& p, bool numbers_known) {
  const auto pid = static_cast<pid_t>(p.process);
  return pid == 0 || !numbers_known || began_after(pid, p.first_ns)
             ? ""
             : first_line(fmt::format("/proc/{}/comm", pid));
}

std::string process_text(const ProcessTraffic& p, bool numbers_known) {
  if (p.process == 0) {
    return "not known";
  }
  const std::string command = command_of(p, numbers_known);
  const char* unknown = numbers_known ? "(ended)" : "(outside of this pid namespace)";
  return fmt::format("{} {}", p.process, command.empty() ? unknown : printable(command));
}

std::string processes_text(const FileTraffic& t, std::uint64_t all) {
  const std::vector<ProcessTraffic>& processes = t.found.processes;
  std::string out = processes.empty() ? "" : heading_of("process");
  for (std::size_t i = 0; i < std::min(processes.size(), kShownPaths); ++i) {
    out += row_of(processes[i].traffic, all, process_text(processes[i], t.numbers_known));
  }
  return out;
}

using LatencySteps = std::vector<std::pair<std::uint64_t, std::uint64_t>>;  // latency, requests

// Below which a share of them are: the middle of its step, of four an octave.
std::string percentile_text(const LatencySteps& steps, double share) {
  std::uint64_t all = 0, seen = 0;
  for (const auto& [ns, requests] : steps) {
    all += requests;
  }
  for (const auto& [ns, requests] : steps) {
    seen += requests;
    if (static_cast<double>(seen) >= share * static_cast<double>(all)) {
      return format_duration(Nanos(static_cast<std::int64_t>(ns + std::bit_floor(ns) / 8)));
    }
  }
  return "-";
}

std::string latency_by_size(const std::vector<LatencyCell>& cells) {
  std::map<std::uint64_t, LatencySteps> sizes;
  for (const LatencyCell& c : cells) {
    sizes[c.bytes].emplace_back(c.latency_ns, c.requests);
  }
  std::string out =
      sizes.empty() ? ""
                    : fmt::format("  {:>9} {:>10} {:>9} {:>9}\n", "size", "requests", "p50", "p99");
  for (const auto& [bytes, steps] : sizes) {
    std::uint64_t requests = 0;
    for (const auto& [ns, n] : steps) {
      requests += n;
    }
    out += fmt::format("  {:>9} {:>10} {:>9} {:>9}\n", format_bytes(Bytes{bytes}),
                       format_count(requests), percentile_text(steps, 0.5),
                       percentile_text(steps, 0.99));
  }
  return out;
}

}  // namespace

Result<std::unique_ptr<WatchedData>> watched_data(const std::string& path,
                                                  const BlockDevice& device) {
  std::error_code ec;
  SourceSettings settings;
  (std::filesystem::is_directory(path, ec) ? settings.data : settings.catalog) = path;
  BLKSWEEP_TRY(Source source, open_source(settings));
  if (!source.device || source.device->whole_disk != device.whole_disk) {
    return usage_error(fmt::format("--catalog {}: its data are on {}, not on {}", path,
                                   source.device ? source.device->disk : "no block device",
                                   device.disk));
  }
  if (const std::string refusal = address_refusal(source.catalog); !refusal.empty()) {
    return unsupported(fmt::format("--catalog {}: {}", path, refusal));
  }
  OwnerMap map(source.catalog);
  return std::make_unique<WatchedData>(WatchedData{std::move(source), std::move(map)});
}

FileTraffic traffic_of(const WatchedData& data, const std::vector<ProbeIssue>& reads,
                       const ProbeReport& counts) {
  return {std::string(data.source.catalog.root),
          attribute({data.source.catalog, data.map}, reads),
          counts.others,
          reads.size(),
          counts.requests,
          counts.self == 0 || counts.self == static_cast<std::uint32_t>(::getpid())};
}

Result<std::string> moved_meanwhile(const WatchedData& data, const FileTraffic& traffic) {
  const Catalog& catalog = data.source.catalog;
  // What was read elsewhere may be of any file that lies there by now.
  const bool any_file = traffic.found.of(ReadClass::elsewhere).requests > 0;
  BLKSWEEP_TRY(const ExtentCheck now,
               any_file ? check_extents(catalog)
                        : check_extents(catalog, AskWriters::no, traffic.found.read_files));
  std::vector<ChangedFile> all = now.changed;
  all.insert(all.end(), now.moved.begin(), now.moved.end());
  return all.empty() ? ""
                     : fmt::format(
                           "{} of {} files {} were changed, removed or moved since they were "
                           "catalogued, so that {}: {}",
                           format_count(all.size()), format_count(now.files),
                           any_file ? "of the catalog" : "that reads are said to be of",
                           any_file ? "reads elsewhere may have been of them, and theirs of others"
                                    : "those reads may have been of others",
                           name_first(all));
}

Json traffic_json(const FileTraffic& t) {
  Json out = attribution_json(attribution_record(t.found, t.others, false));
  out["processes"] = Json::array();
  for (const ProcessTraffic& p : t.found.processes) {
    out["processes"].push_back({{"process", p.process == 0 ? Json(nullptr) : Json(p.process)},
                                {"command", or_null(command_of(p, t.numbers_known))},
                                {"requests", p.traffic.requests},
                                {"bytes", p.traffic.bytes}});
  }
  out["seen_requests"] = t.seen;
  out["requests"] = t.requests;
  return out;
}

std::vector<std::string> traffic_lines(const FileTraffic& t, std::size_t files) {
  const std::uint64_t all = all_bytes(t);
  std::string classes = "read for  ";
  for (const ReadClass c : kReadClasses) {
    if (t.found.of(c).bytes > 0) {
      classes +=
          fmt::format(" {} {:.1f} %  ", to_string(c), 100 * share_of(t.found.of(c).bytes, all));
    }
  }
  std::vector<std::string> lines = {std::move(classes)};
  for (std::size_t i = 0; i < std::min(files, t.found.files.size()); ++i) {
    const PathTraffic& f = t.found.files[i];
    lines.push_back(fmt::format("{:<10} {:>9} {:>5.1f} %  {}", i == 0 ? "files" : "",
                                format_bytes(Bytes{f.traffic.bytes}),
                                100 * share_of(f.traffic.bytes, all), printable(f.path)));
  }
  return lines;
}

std::string traffic_text(const FileTraffic& t) {
  const std::uint64_t all = all_bytes(t);
  std::string out = fmt::format("reads by what lies there, of {}{}\n", printable(t.root),
                                t.seen == t.requests
                                    ? ""
                                    : fmt::format(" ({} of {} reads, evenly spaced)",
                                                  format_count(t.seen), format_count(t.requests)));
  return out + classes_text(t, all) + paths_text("file", t.found.files, all) +
         paths_text("folder", t.found.folders, all) + processes_text(t, all) +
         latency_by_size(t.found.latency);
}

}  // namespace blksweep
