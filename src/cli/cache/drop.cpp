// blksweep cache drop: the caches of the node, or the pages of some trees.
#include "node/cache/drop.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "base/table.h"
#include "base/units.h"
#include "cli/answer.h"
#include "cli/cache/files.h"
#include "os/process/signals.h"

namespace blksweep {
namespace {

DropKind kind_of(const CacheFilesOptions& o) {
  return o.pages ? DropKind::pages : o.inodes ? DropKind::inodes : DropKind::all;
}

const char* kind_name(DropKind kind) {
  return kind == DropKind::pages ? "pages" : kind == DropKind::inodes ? "inodes" : "all";
}

const char* hold_name(HoldKind kind) {
  return kind == HoldKind::locked ? "locked" : kind == HoldKind::mapped ? "mapped" : "open";
}

Json node_json(const NodeCaches& c) {
  return {{"file_bytes", or_null(c.file_pages)},
          {"device_bytes", or_null(c.device_pages)},
          {"tmpfs_bytes", or_null(c.tmpfs)},
          {"dirty_bytes", or_null(c.dirty)},
          {"mapped_bytes", or_null(c.mapped)},
          {"locked_bytes", or_null(c.locked)},
          {"reclaimable_slab_bytes", or_null(c.reclaimable_slab)},
          {"inodes", or_null(c.inodes)},
          {"dentries", or_null(c.dentries)}};
}

void print_node(const NodeCaches& before, const NodeCaches& after) {
  Table table;
  table.column("node", Table::Align::left);
  table.column("before");
  table.column("after");
  table.column("", Table::Align::left);
  const auto bytes = [](const std::optional<std::uint64_t>& n) {
    return n ? format_bytes({*n}) : "-";
  };
  const auto count = [](const std::optional<std::uint64_t>& n) {
    return n ? format_count(*n) : "-";
  };
  table.row({"file pages", bytes(before.file_pages), bytes(after.file_pages), ""});
  table.row({"device pages", bytes(before.device_pages), bytes(after.device_pages), ""});
  table.row({"mapped", bytes(before.mapped), bytes(after.mapped), "stays (tmpfs is in it)"});
  table.row({"locked", bytes(before.locked), bytes(after.locked), "stays"});
  table.row({"dirty", bytes(before.dirty), bytes(after.dirty), "written meanwhile"});
  table.row({"tmpfs", bytes(before.tmpfs), bytes(after.tmpfs), "stays: the pages are the files"});
  table.row(
      {"reclaimable slab", bytes(before.reclaimable_slab), bytes(after.reclaimable_slab), ""});
  table.row({"inodes", count(before.inodes), count(after.inodes), "those in use stay"});
  table.row({"dentries", count(before.dentries), count(after.dentries), "those in use stay"});
  say_text(table.text());
}

Json mappers_json(const std::vector<FileMapper>& mappers) {
  Json all = Json::array();
  for (const FileMapper& m : mappers) {
    all.push_back({{"pid", m.pid},
                   {"command", m.command},
                   {"mapped_file_bytes", m.file_bytes},
                   {"locked_bytes", m.locked_bytes}});
  }
  return all;
}

Result<Exit> drop_whole_node(const CacheFilesOptions& o) {
  const NodeCaches before = node_caches();
  if (const Result<> dropped = drop_node(kind_of(o)); !dropped) {
    Error error = dropped.error();
    if (error.exit_code == Exit::unsupported) {
      error.text += "; 'cache drop DIR' drops the pages of files of your own";
    }
    return tl::unexpected(std::move(error));
  }
  const NodeCaches after = node_caches();
  const std::vector<FileMapper> mappers = largest_mappers(3);
  if (o.json) {
    say_json({{"scope", "node"},
              {"what", kind_name(kind_of(o))},
              {"before", node_json(before)},
              {"after", node_json(after)},
              {"largest_mappers", mappers_json(mappers)}});
    return Exit::done;
  }
  print_node(before, after);
  for (const FileMapper& m : mappers) {
    say("{} ({}) maps {} of files{}\n", m.command, m.pid, format_bytes({m.file_bytes}),
        m.locked_bytes > 0 ? fmt::format(", {} locked", format_bytes({m.locked_bytes})) : "");
  }
  return Exit::done;
}

Json stayed_json(const TreeDrop& d) {
  Json named = Json::array();
  for (const StayedFile& f : d.named) {
    Json holds = Json::array();
    for (const PageHold& h : f.holds) {
      holds.push_back({{"how", hold_name(h.kind)},
                       {"pid", h.pid},
                       {"command", h.command},
                       {"bytes", h.kind == HoldKind::open ? Json(nullptr) : Json(h.bytes)}});
    }
    named.push_back(
        {{"path", f.path}, {"resident_bytes", f.bytes}, {"dirty", f.dirty}, {"held_by", holds}});
  }
  return {{"files", d.stayed.files},
          {"bytes", d.stayed.bytes},
          {"locked_files", d.stayed.locked},
          {"dirty_files", d.stayed.dirty},
          {"mapped_files", d.stayed.mapped},
          {"open_files", d.stayed.open},
          {"unexplained_files", d.stayed.unexplained},
          {"named", named}};
}

// Inodes of a tree are not dropped; null where nobody asked for that.
Json tree_json(const FileSet& files, const TreeDrop& d, bool with_inodes) {
  return {{"path", files.root()},
          {"filesystem", files.filesystem()},
          {"before", residency_json(d.before)},
          {"after", residency_json(d.after)},
          {"stayed", stayed_json(d)},
          {"paged_out_files", d.paged_out},
          {"unwritten_files", d.unwritten},
          {"inodes_kept", with_inodes ? Json(files.size() + files.directories()) : Json(nullptr)}};
}

std::string reasons_text(const StayedCount& s) {
  std::string out;
  const auto add = [&out](std::uint64_t n, const char* what) {
    if (n > 0) {
      out += fmt::format("{}{} {}", out.empty() ? "" : ", ", format_count(n), what);
    }
  };
  add(s.locked, "locked");
  add(s.dirty, "dirty");
  add(s.mapped, "mapped");
  add(s.open, "open");
  add(s.unexplained, "unexplained");
  return out;
}

std::string holds_text(const StayedFile& f) {
  constexpr std::size_t kHolders = 3;
  std::string out = f.dirty ? "dirty" : "";
  for (std::size_t i = 0; i < std::min(f.holds.size(), kHolders); ++i) {
    const PageHold& h = f.holds[i];
    out += fmt::format("{}{} by {} ({})", out.empty() ? "" : ", ", hold_name(h.kind), h.command,
                       h.pid);
  }
  return f.holds.size() > kHolders ? fmt::format("{} and {} more", out, f.holds.size() - kHolders)
         : out.empty()             ? "no process explains it"
                                   : out;
}

void print_tree(const FileSet& files, const TreeDrop& d, bool with_inodes) {
  say("{}: {} files, {}\n", files.root(), format_count(d.before.files),
      format_bytes({d.before.bytes}));
  say("  resident before  {:>10}  {:>9}\n", format_bytes({d.before.resident_bytes}),
      percent_text(d.before));
  say("  resident after   {:>10}  {:>9}\n", format_bytes({d.after.resident_bytes}),
      percent_text(d.after));
  if (d.paged_out > 0) {
    say("  paged out        {} files that another process maps\n", format_count(d.paged_out));
  }
  if (d.stayed.files > 0) {
    say("  stayed           {} files, {}: {}\n", format_count(d.stayed.files),
        format_bytes({d.stayed.bytes}), reasons_text(d.stayed));
    for (const StayedFile& f : d.named) {
      say("    {}  {}  {}\n", f.path, format_bytes({f.bytes}), holds_text(f));
    }
    if (d.stayed.files > d.named.size()) {
      say("    and {} more\n", format_count(d.stayed.files - d.named.size()));
    }
  }
  if (with_inodes) {
    say("  inodes, dentries of {} files and {} folders stay: the kernel drops them for the\n"
        "                   whole node only (blksweep cache drop --inodes)\n",
        format_count(files.size()), format_count(files.directories()));
  }
}

std::vector<std::string> warnings_of(const FileSet& files, const TreeDrop& d) {
  std::vector<std::string> out = warnings_of(files);
  if (d.unwritten > 0) {
    out.push_back(
        fmt::format("{} files could not be written and stay: {}", d.unwritten, d.first_unwritten));
  }
  if (d.after.unreadable > 0) {
    out.push_back(unreadable_text(d.after));
  }
  if (d.stayed.files > 0 && d.unseen_processes > 0) {
    out.push_back(
        fmt::format("{} processes may not be looked at: who holds pages may be one of "
                    "them; root may look",
                    d.unseen_processes));
  }
  return out;
}

Result<> check_sets(const CacheFilesOptions& o, const std::vector<FileSet>& sets) {
  if (o.inodes) {
    return unsupported(
        "cache drop --inodes " + o.paths.front() +
        ": the kernel can drop dentries and inodes of the whole node only: give no path");
  }
  for (const FileSet& files : sets) {
    if (lives_in_memory(files.filesystem())) {
      return unsupported("cache drop " + files.root() + ": " + cache_caveat(files.filesystem()) +
                         "; use a filesystem on a block device");
    }
  }
  return {};
}

Result<Exit> drop_trees(const CacheFilesOptions& o) {
  BLKSWEEP_TRY(const std::vector<FileSet> sets, file_sets(o.paths));
  BLKSWEEP_CHECK(check_sets(o, sets));
  Json trees = Json::array();
  bool complete = true;
  for (const FileSet& files : sets) {
    TreeDrop d;
    {
      CountLine line("steps:", 2 * files.size(), false);
      d = drop_tree(files, stop_requested(),
                    [&line](std::uint64_t at) { line.at().store(at, std::memory_order_relaxed); });
    }
    if (d.interrupted) {
      return fail("cache drop " + files.root() + ": interrupted; pages of it may remain",
                  Exit::interrupted);
    }
    const std::vector<std::string> warnings = warnings_of(files, d);
    std::ranges::for_each(warnings, [](const std::string& w) { warn(w); });
    complete =
        complete && d.after.resident_pages == 0 && d.after.unreadable == 0 && files.unlisted() == 0;
    const bool with_inodes = kind_of(o) == DropKind::all;
    if (o.json) {
      trees.push_back(tree_json(files, d, with_inodes));
      trees.back()["warnings"] = warnings;
    } else {
      print_tree(files, d, with_inodes);
    }
  }
  if (o.json) {
    say_json({{"scope", "tree"}, {"what", kind_name(kind_of(o))}, {"trees", trees}});
  }
  return complete ? Exit::done : Exit::incomplete;
}

}  // namespace

Result<Exit> cache_drop(const CacheFilesOptions& options) {
  return options.paths.empty() ? drop_whole_node(options) : drop_trees(options);
}

}  // namespace blksweep
