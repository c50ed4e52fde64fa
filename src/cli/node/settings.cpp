// blksweep node set and restore; show is in node_show.cpp.
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "base/json.h"
#include "base/log.h"
#include "base/table.h"
#include "base/units.h"
#include "cli/answer.h"
#include "cli/device_argument.h"
#include "cli/node/show.h"
#include "cli/run/cell_options.h"
#include "cli/verb.h"
#include "node/journal/borrowing.h"
#include "node/queue.h"
#include "os/process/fatal_end.h"
#include "os/process/signals.h"

namespace blksweep {
namespace {

constexpr const char* kSetExamples =
    R"(What was there before is in the journal first; `node restore` puts it back.
Values are the kernel's own (sizes and times with units); it may round them.

examples:
  blksweep node set --device loop0 --scheduler bfq --iosched low_latency=0
  blksweep node set --device /home --nr-requests 64 --read-ahead 128KiB
  blksweep node set --vfs-cache-pressure 50 --dirty-bytes 64MiB)";

constexpr const char* kRestoreExamples =
    R"(Puts back what `node set` changed and what killed processes left behind. What a
living process holds is left alone (it gives back itself); it is named.

examples:
  blksweep node restore
  blksweep node restore --json
  blksweep node restore --discard)";

using Parse = Result<std::string> (*)(std::string_view);

struct Setting {
  const char* option;
  const char* name;
  Parse parse;
  const char* help;
};

Result<std::string> as_it_is(std::string_view text) {
  if (text.empty()) {
    return usage_error("'' is no value");
  }
  return std::string(text);
}

Result<std::string> whole_number(std::string_view text) {
  BLKSWEEP_TRY(const std::uint64_t n, parse_count(text));
  return std::to_string(n);
}

Result<std::string> bytes(std::string_view text) {
  BLKSWEEP_TRY(const Bytes size, parse_bytes(text));
  return std::to_string(size.n);
}

Result<std::string> kibibytes(std::string_view text) {
  BLKSWEEP_TRY(const Bytes size, parse_whole_kib(text));
  return std::to_string(size.n / 1024);
}

Result<std::string> microseconds(std::string_view text) {
  if (text == "off") {
    return std::string("0");
  }
  BLKSWEEP_TRY(const Nanos time, parse_duration(text));
  if (time % std::chrono::microseconds(1) != Nanos(0)) {
    return usage_error(fmt::format("'{}' is no multiple of 1us, the kernel's unit here", text));
  }
  return std::to_string(time / std::chrono::microseconds(1));
}

Result<std::string> zero_or_one(std::string_view text) {
  if (text != "0" && text != "1") {
    return usage_error(fmt::format("'{}' is neither 0 nor 1", text));
  }
  return std::string(text);
}

constexpr std::array<Setting, 8> kQueue = {{
    {"--scheduler", "scheduler", as_it_is, "none, mq-deadline, kyber, bfq"},
    {"--nr-requests", "nr_requests", whole_number, "requests the queue holds"},
    {"--read-ahead", "read_ahead_kb", kibibytes, "of buffered reads (128KiB)"},
    {"--nomerges", "nomerges", whole_number, "0 merge, 1 only simple, 2 never"},
    {"--max-sectors", "max_sectors_kb", kibibytes, "longest request (512KiB)"},
    {"--rq-affinity", "rq_affinity", whole_number, "CPU of completions: 0, 1, 2"},
    {"--wbt-lat", "wbt_lat_usec", microseconds, "writeback throttling (2ms), or off"},
    {"--rotational", "rotational", zero_or_one, "what the kernel takes it for"},
}};
constexpr std::array<Setting, 6> kNode = {{
    {"--vfs-cache-pressure", "vm/vfs_cache_pressure", whole_number, "of dentries and inodes (100)"},
    {"--dirty-ratio", "vm/dirty_ratio", whole_number, "% of memory"},
    {"--dirty-bytes", "vm/dirty_bytes", bytes, "in its place (64MiB)"},
    {"--dirty-background-ratio", "vm/dirty_background_ratio", whole_number, "% of memory"},
    {"--dirty-background-bytes", "vm/dirty_background_bytes", bytes, "in its place"},
    {"--governor", "cpu/governor", as_it_is, "of every CPU: performance ..."},
}};

struct SetOptions {
  std::string device;
  QueueWish queue, node;
  bool json = false;
};

Result<std::pair<std::string, std::string>> parse_tunable(const std::string& text) {
  const std::size_t equal = text.find('=');
  if (equal == std::string::npos || equal == 0 || equal + 1 == text.size()) {
    return usage_error(fmt::format("'{}' is not NAME=VALUE", text));
  }
  return std::pair("iosched/" + text.substr(0, equal), text.substr(equal + 1));
}

bool asks_for(const SetOptions& o, const std::string& name) {
  return std::ranges::find(o.node, name, &QueueWish::value_type::first) != o.node.end();
}

Result<> check_options(const SetOptions& o) {
  for (const std::string which : {"dirty", "dirty_background"}) {
    if (asks_for(o, "vm/" + which + "_ratio") && asks_for(o, "vm/" + which + "_bytes")) {
      return usage_error(which + "_ratio or " + which + "_bytes: each makes the other 0");
    }
  }
  if (o.queue.empty() && o.node.empty()) {
    return usage_error("say what to set, such as --scheduler (see --help)");
  }
  if (o.queue.empty() != o.device.empty()) {
    return usage_error(o.device.empty() ? "say of which device: --device DEV|PATH"
                                        : "--device: say what to set on it, such as --scheduler");
  }
  return {};
}

Result<std::vector<AskedGot>> set_all(const SetOptions& o, Borrowing& borrowing) {
  std::vector<AskedGot> all;
  if (!o.queue.empty()) {
    BLKSWEEP_TRY(const BlockDevice device, device_of_argument(o.device));
    BLKSWEEP_TRY(all, set_queue(device.disk, o.queue, borrowing));
  }
  for (const auto& [name, value] : o.node) {
    BLKSWEEP_TRY(AskedGot one, set_tunable(name, value, borrowing));
    all.push_back(std::move(one));
  }
  return all;
}

Json to_json(const AskedGot& a) {
  return {{"name", a.name}, {"before", or_null(a.before)}, {"asked", a.asked}, {"got", a.got}};
}

void print(const std::vector<AskedGot>& all, bool json) {
  Json settings = Json::array();
  Table table;
  for (const char* title : {"setting", "before", "asked", "got"}) {
    table.column(title, Table::Align::left);
  }
  for (const AskedGot& a : all) {
    settings.push_back(to_json(a));
    table.row({a.name, a.before, a.asked, a.got});
    if (a.asked != a.got) {
      warn(fmt::format("{}: the kernel made {} of {}", a.name, a.got, a.asked));
    }
  }
  if (json) {
    say_json(Json{{"settings", settings}});
  } else {
    say_text(table.text());
  }
}

// All or nothing: the first refusal takes back what was set before it.
Result<Exit> set(const SetOptions& o) {
  BLKSWEEP_CHECK(check_options(o));
  install_stop_signals();
  BLKSWEEP_TRY(Borrowing borrowing, Borrowing::begin(/*kept=*/true));
  const auto all = set_all(o, borrowing);
  if (!all || stop_requested()) {
    BLKSWEEP_CHECK(borrowing.restore());
    return all ? Result<Exit>(Exit::interrupted) : tl::unexpected(all.error());
  }
  print(*all, o.json);
  return Exit::done;
}

struct RestoreOptions {
  bool discard = false, json = false;
  std::optional<int> after;  // the signal that we were executed anew for; 0: another end
};

// In the place of a program that could not unwind: what it had borrowed, then its end. Signals wait
// until then: who ends us twice may do it three times, and a limit (SIGXCPU) tells us every second.
[[noreturn]] void give_back_and_end(int number) {
  const BlockedSignals all;
  if (const auto restored = restore_own(); restored) {
    for (const std::string& line : *restored) {
      note(line);
    }
  } else {
    warn(restored.error().message() + ": `blksweep node restore` tries again");
  }
  end_as(number);
}

void print(const RestoreReport& r) {
  for (const std::string& line : r.restored) {
    say("{}\n", line);
  }
  for (const std::string& line : r.left) {
    say("left to the process that holds it: {}\n", line);
  }
  for (const std::string& line : r.later) {
    say("kept until this process has ended: {}\n", line);
  }
  if (r.restored.empty() && r.left.empty() && r.later.empty() && r.failed.empty()) {
    say("nothing is borrowed\n");
  }
}

Result<Exit> restore(const RestoreOptions& o) {
  if (o.after) {
    give_back_and_end(*o.after);
  }
  BLKSWEEP_TRY(const RestoreReport r, restore_left_behind(o.discard));
  if (o.json) {
    const Json j = {
        {"restored", r.restored}, {"left", r.left}, {"later", r.later}, {"failed", r.failed}};
    say_json(j);
  } else {
    print(r);
  }
  if (r.failed.empty()) {
    return r.later.empty() ? Exit::done : Exit::incomplete;
  }
  for (std::size_t i = 1; i < r.failed.size(); ++i) {
    warn(r.failed[i]);
  }
  return fail(r.failed.front());
}

void add_setting(Command app, const Setting& setting, QueueWish& wish) {
  const auto set = [setting, &wish](const std::string& text) -> Result<> {
    BLKSWEEP_TRY(auto value, setting.parse(text));
    wish.emplace_back(setting.name, std::move(value));
    return {};
  };
  app.add_text(setting.option, set, setting.help);
}

void add_tunables(Command app, QueueWish& wish) {
  const auto set = [&wish](const std::vector<std::string>& texts) -> Result<> {
    for (const std::string& text : texts) {
      BLKSWEEP_TRY(auto tunable, parse_tunable(text));
      wish.push_back(std::move(tunable));
    }
    return {};
  };
  app.add_texts("--iosched", set, "NAME=VALUE of the scheduler; may be repeated").repeatable();
}

void add_set(Verbs& verbs, Command node) {
  const auto o = std::make_shared<SetOptions>();
  Command app = node.add_subcommand("set", "change settings until `node restore`");
  app.footer(kSetExamples);
  app.column_width(28);
  app.add_option("--device", o->device, "a device, or a path on it");
  for (const Setting& setting : kQueue) {
    add_setting(app, setting, o->queue);
  }
  add_tunables(app, o->queue);
  for (const Setting& setting : kNode) {
    add_setting(app, setting, o->node);
  }
  app.add_flag("--json", o->json, "one JSON document");
  app.callback([&verbs, o] { verbs.action = [o] { return set(*o); }; });
}

void add_restore(Verbs& verbs, Command node) {
  const auto o = std::make_shared<RestoreOptions>();
  Command app = node.add_subcommand("restore", "put everything back");
  app.footer(kRestoreExamples);
  app.add_flag("--discard", o->discard,
               "remove what cannot be trusted, unread, and what is refused");
  const auto number = [](const std::string& text) -> Result<int> {
    BLKSWEEP_TRY(const std::uint64_t n, parse_count(text));
    return n < NSIG ? Result<int>(static_cast<int>(n)) : usage_error(text + " is no signal");
  };
  add_parsed(app, "--after", o->after, number, "the signal that ended this process").hidden();
  app.add_flag("--json", o->json, "one JSON document");
  app.callback([&verbs, o] { verbs.action = [o] { return restore(*o); }; });
}

}  // namespace

void add_node_settings(Verbs& verbs, Command node) {
  add_node_show(verbs, node);
  add_set(verbs, node);
  add_restore(verbs, node);
}

}  // namespace blksweep
