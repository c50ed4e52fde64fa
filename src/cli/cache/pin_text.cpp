#include "cli/cache/pin_text.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/json.h"
#include "base/table.h"
#include "os/memory/memory_room.h"
#include "os/process/process_id.h"

namespace blksweep {
namespace {

std::string dump(const Json& j) { return json_text(j) + "\n"; }

Json entry_object(const PinEntry& e) {
  Json j = parse_json(to_json_text(e));
  const bool alive = is_alive(e.daemon);
  j["state"] = !alive ? "dead" : e.held ? "alive" : "pinning";
  j["kernel_memory_per_file_bytes"] =
      e.count.files > 0 ? Json(e.kernel_memory.n / e.count.files) : Json(nullptr);
  j["ns_per_file"] = e.held && e.count.files > 0
                         ? Json(e.took_ns / static_cast<std::int64_t>(e.count.files))
                         : Json(nullptr);
  j.erase("start_time");
  return j;
}

std::string files_text(std::uint64_t files, std::uint64_t folders) {
  return fmt::format("{} files{}", format_count(files - folders),
                     folders > 0 ? fmt::format(" and {} folders", format_count(folders)) : "");
}

std::string per_file(Bytes all, std::uint64_t files) {
  return files > 0 ? fmt::format("{} B per file", format_count(all.n / files)) : "";
}

std::string helpers_text(PinKind kind, std::uint64_t n) {
  if (kind == PinKind::inodes) {
    return fmt::format("{} descriptor table{}", n, n == 1 ? "" : "s");
  }
  return fmt::format("{} helper process{}", n, n == 1 ? "" : "es");
}

std::string local_time(std::int64_t unix_ns) {
  return fmt::format("{:%F %T}", fmt::localtime(static_cast<std::time_t>(unix_ns / 1'000'000'000)));
}

Json known(const std::optional<Bytes>& bytes) { return bytes ? Json(bytes->n) : Json(nullptr); }

}  // namespace

std::string forecast_text(const PinForecast& f) {
  const PinCost& c = f.cost;
  const MemoryRoom room = memory_room();
  std::string text = fmt::format("{}: would pin the {} of {}\n", f.name, to_string(f.kind),
                                 files_text(c.files, f.folders));
  if (f.kind == PinKind::pages) {
    text += fmt::format("  locked      {}\n", format_bytes(c.locked));
  }
  text += fmt::format("  kernel      {} ({}, by {})\n", format_bytes(c.kernel_memory),
                      per_file(c.kernel_memory, c.files), c.memory_source);
  text += fmt::format("  helpers     {} (at most {} files each)\n", helpers_text(f.kind, c.helpers),
                      format_count(c.per_helper));
  text += fmt::format("  available   {}{}\n",
                      room.available ? format_bytes(*room.available) : "unknown",
                      room.of_cgroup() ? ", cgroup limit " + format_bytes(*room.cgroup_limit) : "");
  return text + fmt::format("  fits        {}\n", f.fits ? "yes" : "no");
}

std::string forecast_json(const PinForecast& f) {
  const MemoryRoom room = memory_room();
  return dump({{"name", f.name},
               {"kind", to_string(f.kind)},
               {"files", f.cost.files - f.folders},
               {"folders", f.folders},
               {"locked_bytes", f.cost.locked.n},
               {"kernel_memory_bytes", f.cost.kernel_memory.n},
               {"kernel_memory_source", f.cost.memory_source},
               {"helpers", f.cost.helpers},
               {"files_per_helper", f.cost.per_helper},
               {"memory_available_bytes", known(room.available)},
               {"cgroup_limit_bytes", known(room.cgroup_limit)},
               {"fits", f.fits.has_value()},
               {"refusal", f.fits ? Json(nullptr) : Json(f.fits.error().text)}});
}

std::string entry_text(const PinEntry& e) {
  const auto files = static_cast<std::int64_t>(e.count.files);
  std::string text = fmt::format(
      "{}: the {} of {} pinned in {} ({} per file), {}, pid {}\n", e.name, to_string(e.kind),
      files_text(e.count.files, e.count.folders), format_duration(Nanos{e.took_ns}),
      format_duration(Nanos{files > 0 ? e.took_ns / files : 0}),
      helpers_text(e.kind, e.count.helpers), e.daemon.pid);
  if (e.kind == PinKind::pages) {
    text += fmt::format("  locked  {}\n", format_bytes(e.count.bytes));
  }
  const auto growth = static_cast<std::uint64_t>(std::max<std::int64_t>(e.slab_growth, 0));
  return text +
         fmt::format("  kernel  {} ({}, by {}); all slabs of the node grew by {} meanwhile\n",
                     format_bytes(e.kernel_memory), per_file(e.kernel_memory, e.count.files),
                     e.memory_source, format_bytes({growth}));
}

std::string entry_json(const PinEntry& e) { return dump(entry_object(e)); }

std::string list_text(const std::vector<PinEntry>& entries) {
  Table table;
  for (const char* title : {"pin", "state", "kind"}) {
    table.column(title, Table::Align::left);
  }
  for (const char* title : {"files", "bytes", "kernel memory", "helpers", "pid"}) {
    table.column(title);
  }
  table.column("since", Table::Align::left);
  for (const PinEntry& e : entries) {
    table.row({e.name, entry_object(e)["state"].get<std::string>(), to_string(e.kind),
               format_count(e.count.files),
               e.kind == PinKind::pages ? format_bytes(e.count.bytes) : "-",
               format_bytes(e.kernel_memory), format_count(e.count.helpers),
               fmt::format("{}", e.daemon.pid), local_time(e.since_unix_ns)});
  }
  return table.text();
}

std::string list_json(const std::vector<PinEntry>& entries) {
  Json all = Json::array();
  for (const PinEntry& e : entries) {
    all.push_back(entry_object(e));
  }
  return dump({{"pins", all}});
}

}  // namespace blksweep
