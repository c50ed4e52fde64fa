// blksweep cache pin | list | unpin.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <memory>
#include <optional>

#include "base/log.h"
#include "cli/answer.h"
#include "cli/cache/pin_files.h"
#include "cli/cache/pin_text.h"
#include "cli/status_line.h"
#include "cli/verb.h"
#include "node/pin/daemon.h"
#include "os/process/signals.h"

namespace blksweep {
namespace {

constexpr std::chrono::milliseconds kShowEvery(200);

constexpr const char* kPinExamples =
    R"(Inodes: open and stat of those files never read the disk again. Pages: their
data stays in memory. Both hold until 'cache unpin', and the filesystem cannot
be unmounted meanwhile. --percent draws whole files until they come to that
part of the bytes.

examples:
  blksweep cache pin --name warm-inodes --inodes DIR
  blksweep cache pin --name quarter --pages --percent 25 DIR --dry-run
  blksweep cache pin --name chosen --pages --list files.txt)";

constexpr const char* kListExamples = R"(examples:
  blksweep cache list
  blksweep cache list --json
  blksweep cache list --json | python3 -m json.tool)";

constexpr const char* kUnpinExamples =
    R"(Returns when everything is let go. A pin whose daemon was killed holds nothing;
its entry is removed.

examples:
  blksweep cache unpin warm-inodes
  blksweep cache unpin quarter chosen
  blksweep cache unpin --all)";

struct PinOptions {
  std::string name;
  PinInput input;
  bool inodes = false, pages = false, dry_run = false, json = false, all = false;
  std::optional<double> percent;
  std::uint64_t seed = 1;
  std::vector<std::string> names;
};

Result<std::optional<double>> parse_pinned_share(std::string_view text) {
  const std::string_view number = text.ends_with('%') ? text.substr(0, text.size() - 1) : text;
  double n = 0;
  const char* end = number.data() + number.size();
  const auto [rest, ec] = std::from_chars(number.data(), end, n);
  if (ec != std::errc{} || rest != end || !(n > 0 && n <= 100)) {
    return usage_error(fmt::format("'{}' is no percentage: give more than 0, at most 100", text));
  }
  return std::optional(n);
}

Result<> check(const PinOptions& o) {
  BLKSWEEP_CHECK(check_pin_name(o.name));
  if (o.inodes == o.pages) {
    return usage_error("say what to pin: either --inodes or --pages");
  }
  if (o.percent && o.inodes) {
    return usage_error("--percent is of the bytes, and so goes with --pages");
  }
  if (o.input.roots.empty() && o.input.list.empty()) {
    return usage_error("say which files: folders, files or --list");
  }
  return {};
}

Result<PinnedSet> chosen(const PinOptions& o, std::vector<std::uint64_t>& sizes) {
  PinInput input = o.input;
  input.folders = o.inodes;
  BLKSWEEP_TRY(PinnedSet set, collect(input));
  if (set.left_out > 0) {
    warn(fmt::format("pin {}: {} left out, the first: {}", o.name, format_count(set.left_out),
                     set.first_left_out));
  }
  if (o.pages) {
    sizes = sizes_of_files(set.paths);
    if (o.percent) {
      const auto kept = draw_share(sizes, *o.percent, o.seed);
      set.paths.keep(kept);
      std::ranges::transform(kept, sizes.begin(), [&](std::uint32_t i) { return sizes[i]; });
      sizes.resize(kept.size());
    }
  }
  if (set.paths.size() == set.folders) {
    return fail("nothing to pin: there are no files");
  }
  return set;
}

PinKind kind_of(const PinOptions& o) { return o.pages ? PinKind::pages : PinKind::inodes; }

Result<Exit> show_forecast(const PinOptions& o, const PinForecast& forecast) {
  say_text(o.json ? forecast_json(forecast) : forecast_text(forecast));
  BLKSWEEP_CHECK(forecast.fits);
  return Exit::done;
}

Result<PinEntry> start(const PinRegistry& registry, const PinOptions& o, const PinCost& cost,
                       PathList paths) {
  install_stop_signals();
  const std::size_t count = paths.size();
  const auto names = std::make_shared<const PathList>(std::move(paths));
  PinOrder order{.name = o.name,
                 .kind = kind_of(o),
                 .files = {count, [names](std::size_t i) { return names->path(i); }},
                 .cost = cost,
                 .roots = o.input.roots};
  StatusLine line(kShowEvery, kShowEvery);
  return start_pin_daemon(
      registry, std::move(order), [] { return stop_requested().load(); },
      [&](std::uint64_t done) {  // on a terminal only: pinning takes seconds
        if (line.on_terminal() && line.due()) {
          line.show(fmt::format("pin {}: {} of {} files", o.name, format_count(done),
                                format_count(count)));
        }
      });
}

Result<Exit> pin(const PinOptions& o) {
  BLKSWEEP_CHECK(check(o));
  const PinRegistry registry;
  if (!o.dry_run) {  // before the work, not after it
    BLKSWEEP_CHECK(registry.check_free(o.name));
  }
  std::vector<std::uint64_t> sizes;
  BLKSWEEP_TRY(PinnedSet set, chosen(o, sizes));
  const PinCost cost = o.pages ? page_pin_cost(sizes, set.filesystem)
                               : inode_pin_cost(set.paths.size(), set.filesystem);
  const Result<> fits = o.pages ? check_page_pin(cost) : check_inode_pin(cost);
  if (o.dry_run) {
    return show_forecast(o, {o.name, kind_of(o), cost, set.folders, fits});
  }
  BLKSWEEP_CHECK(fits);
  BLKSWEEP_TRY(const PinEntry entry, start(registry, o, cost, std::move(set.paths)));
  if (entry.count.failed > 0) {
    warn(fmt::format("pin {}: {} could not be pinned, the first: {}", o.name,
                     format_count(entry.count.failed), entry.count.first_error));
  }
  say_text(o.json ? entry_json(entry) : entry_text(entry));
  return entry.count.failed > 0 ? Exit::incomplete : Exit::done;
}

Result<std::vector<PinEntry>> all_entries(const PinRegistry& registry) {
  BLKSWEEP_TRY(const std::vector<std::string> names, registry.names());
  std::vector<PinEntry> entries;
  for (const std::string& name : names) {
    auto entry = registry.load(name);
    if (entry) {
      entries.push_back(*std::move(entry));
    } else {
      warn(entry.error().message());
    }
  }
  return entries;
}

Result<Exit> list(const PinOptions& o) {
  BLKSWEEP_TRY(const std::vector<PinEntry> entries, all_entries(PinRegistry()));
  say_text(o.json ? list_json(entries) : list_text(entries));
  return Exit::done;
}

Result<> unpin_one(const PinRegistry& registry, const std::string& name) {
  const Result<PinEntry> entry = registry.load(name);
  if (entry) {
    const bool alive = is_alive(entry->daemon);
    BLKSWEEP_CHECK(end_pin_daemon(registry, *entry));
    note(fmt::format("pin {}: {}", name,
                     alive ? format_count(entry->count.files) + " files are let go"
                           : "its daemon was dead and held nothing; its entry is removed"));
    return {};
  }
  if (entry.error().sys_errno !=
      0) {  // its daemon may live, and would be nobody's without the entry
    return tl::unexpected(entry.error());
  }
  const Result<std::vector<std::string>> names = registry.names();
  if (!names || std::ranges::find(*names, name) == names->end()) {
    return tl::unexpected(entry.error());
  }
  warn(entry.error().message());
  return registry.discard(name);
}

Result<Exit> unpin(const PinOptions& o) {
  if (o.names.empty() != o.all) {
    return usage_error("say which pins: their names, or --all");
  }
  const PinRegistry registry;
  std::vector<std::string> names = o.names;
  if (o.all) {
    BLKSWEEP_TRY(names, registry.names());
  }
  Result<> first_failure;
  for (const std::string& name : names) {
    Result<> ended = unpin_one(registry, name);
    if (!ended && first_failure) {
      first_failure = std::move(ended);
    }
  }
  BLKSWEEP_CHECK(std::move(first_failure));
  return Exit::done;
}

using Pinning = std::shared_ptr<PinOptions>;

void set_action(Verbs& verbs, Command app, const Pinning& o,
                Result<Exit> (*action)(const PinOptions&)) {
  app.callback([&verbs, o, action] { verbs.action = [o, action] { return action(*o); }; });
}

void add_pin(Verbs& verbs, Command cache) {
  const auto o = std::make_shared<PinOptions>();
  Command app = cache.add_subcommand("pin", "keep inodes or pages cached, in the background");
  app.footer(kPinExamples);
  app.add_option("--name", o->name, "of the pin, for list and unpin").required();
  app.add_flag("--inodes", o->inodes, "dentries and inodes, by open descriptors");
  app.add_flag("--pages", o->pages, "data of whole files, by mmap and mlock");
  app.add_option("PATH", o->input.roots, "folders and files");
  app.add_option("--list", o->input.list, "a file with a path a line; - is stdin");
  app.add_flag("-0,--null", o->input.list_by_nul, "paths of the list end in NUL");
  add_parsed(app, "--percent", o->percent, parse_pinned_share, "of the bytes, with --pages");
  add_parsed(app, "--seed", o->seed, parse_count, "of the drawing [1]");
  app.add_flag("--follow-links", o->input.follow_links, "links that lead out of a folder, too");
  app.add_flag("--dry-run", o->dry_run, "print what it would take, pin nothing");
  app.add_flag("--json", o->json, "one JSON document");
  set_action(verbs, app, o, pin);
}

}  // namespace

void add_cache_pin(Verbs& verbs, Command cache) {
  add_pin(verbs, cache);
  auto o = std::make_shared<PinOptions>();
  Command app = cache.add_subcommand("list", "the pins there are");
  app.footer(kListExamples);
  app.add_flag("--json", o->json, "one JSON document");
  set_action(verbs, app, o, list);
  o = std::make_shared<PinOptions>();
  app = cache.add_subcommand("unpin", "let go");
  app.footer(kUnpinExamples);
  app.add_option("NAME", o->names, "of pins");
  app.add_flag("--all", o->all, "all pins there are");
  set_action(verbs, app, o, unpin);
}

}  // namespace blksweep
