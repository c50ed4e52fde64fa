#include "cli/node/show.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "base/json.h"
#include "base/log.h"
#include "base/table.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/answer.h"
#include "cli/device_argument.h"
#include "node/journal/folder.h"
#include "node/queue.h"
#include "node/setting.h"

namespace blksweep {
namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;

constexpr const char* kNodeShowExamples =
    R"(DEV is a device or its name, PATH any file on it; of a partition, its disk.
"before" is what `node restore`, or the end of the process, will put back.

examples:
  blksweep node show loop0
  blksweep node show /home --json
  blksweep node show)";

// The ones that `node set` knows; --json has all.
constexpr auto kShown = {"nr_requests", "read_ahead_kb", "max_sectors_kb", "nomerges",
                         "rq_affinity", "wbt_lat_usec",  "rotational"};

struct Borrowed {
  Loan loan;
  JournalOwner owner;
  std::string holder;  // "pid 12 (blksweep run ...)"
  const char* state = "";
};

struct Shown {
  std::optional<BlockDevice> device;
  std::vector<std::string> stack;
  std::string scheduler;
  std::vector<std::string> schedulers;
  Settings queue, scheduler_own, node;
  bool may_look = true;  // into the journals
  std::vector<Borrowed> borrowed;
  std::vector<std::string> problems;
};

const char* state_of(const JournalOwner& owner) {
  return owner.kept ? "kept" : is_alive(owner.id) ? "held" : "left behind";
}

std::string holder_of(const JournalOwner& owner) {
  if (owner.kept) {
    return "node set";
  }
  return fmt::format("pid {}{} ({})", owner.id.pid, is_alive(owner.id) ? "" : ", dead",
                     owner.command);
}

void look_at_borrowed(Shown& shown) {
  const auto all = look_at_journals();
  if (!all) {
    shown.may_look = false;
    shown.problems.push_back(all.error().message());
    return;
  }
  for (const FoundJournal& found : *all) {
    if (!found.journal) {
      shown.problems.push_back(found.journal.error().message());
      continue;
    }
    const JournalOwner& owner = found.journal->owner;
    for (const JournalRecord& record : found.journal->records) {
      if (!record.undone) {
        shown.borrowed.push_back({record.loan, owner, holder_of(owner), state_of(owner)});
      }
    }
  }
  // Kept ones lie below those of processes.
  std::stable_partition(shown.borrowed.begin(), shown.borrowed.end(),
                        [](const Borrowed& b) { return b.owner.kept; });
}

Result<Shown> look(const std::string& text) {
  Shown shown;
  if (!text.empty()) {
    BLKSWEEP_TRY(const BlockDevice device, device_of_argument(text));
    shown.device = device;
    shown.stack = stack_of(device.disk);
    shown.scheduler = scheduler_of(device.disk);
    shown.schedulers = schedulers_of(device.disk);
    shown.queue = queue_settings(device.disk);
    shown.scheduler_own = scheduler_tunables(device.disk);
  }
  shown.node = tunables();
  look_at_borrowed(shown);
  return shown;
}

Json to_json(const Settings& settings) {
  Json j = Json::object();
  for (const auto& [name, value] : settings) {
    j[name] = value;
  }
  return j;
}

Json to_json(const Borrowed& b) {
  Json values = Json::array();
  for (const SavedValue& v : b.loan.values) {
    const auto now = read_setting(v.path);
    values.push_back(
        {{"path", v.path}, {"before", v.value}, {"now", now ? Json(*now) : Json(nullptr)}});
  }
  return {{"key", b.loan.key},
          {"what", b.loan.what},
          {"state", b.state},
          {"pid", b.owner.kept ? Json(nullptr) : Json(b.owner.id.pid)},
          {"command", b.owner.kept ? Json(nullptr) : Json(b.owner.command)},
          {"values", values},
          {"path", or_null(b.loan.path)}};
}

Json device_json(const BlockDevice& d) {
  return {{"node", d.node},
          {"disk", d.disk},
          {"size_bytes", d.size},
          {"partition_start_bytes", d.partition_start},
          {"logical_block_bytes", d.logical_block}};
}

Json to_json(const Shown& s) {
  Json borrowed = Json::array();
  for (const Borrowed& b : s.borrowed) {
    borrowed.push_back(to_json(b));
  }
  Json j = {{"device", s.device ? device_json(*s.device) : Json(nullptr)},
            {"stack", s.stack},
            {"scheduler", or_null(s.scheduler)},
            {"schedulers", s.schedulers},
            {"queue", to_json(s.queue)},
            {"iosched", to_json(s.scheduler_own)},
            {"tunables", to_json(s.node)},
            {"borrowed", s.may_look ? borrowed : Json(nullptr)},
            {"problems", s.problems}};
  return j;
}

struct Row {
  std::string name, now, path;
};

// The oldest saved value is what will be there in the end.
const Borrowed* lender_of(const Shown& s, const Row& row, std::string& before) {
  for (const Borrowed& b : s.borrowed) {
    const bool of_all_cpus = b.loan.key == row.name;  // one file per CPU, shown as one
    const auto at = of_all_cpus ? b.loan.values.begin()
                                : std::ranges::find(b.loan.values, row.path, &SavedValue::path);
    if (at != b.loan.values.end()) {
      before = at->value;
      return &b;
    }
  }
  return nullptr;
}

void add_row(const Shown& s, const Row& row, Table& table) {
  std::string before;
  const Borrowed* lender = lender_of(s, row, before);
  const bool changed = lender != nullptr && before != row.now;
  table.row({row.name, row.now, changed ? before : "", changed ? lender->holder : ""});
}

std::string table_text(const Shown& s) {
  Table table;
  for (const char* title : {"setting", "now", "before", "borrowed by"}) {
    table.column(title, Table::Align::left);
  }
  if (s.device) {
    const std::string folder = "/sys/block/" + s.device->disk + "/queue/";
    add_row(s, {"scheduler", s.scheduler, folder + "scheduler"}, table);
    for (const auto& [name, value] : s.queue) {
      if (std::ranges::find(kShown, name) != std::end(kShown)) {
        add_row(s, {name, value, folder + name}, table);
      }
    }
    for (const auto& [name, value] : s.scheduler_own) {
      add_row(s, {"iosched/" + name, value, folder + "iosched/" + name}, table);
    }
  }
  for (const auto& [name, value] : s.node) {
    add_row(s, {name, value, "/proc/sys/" + name}, table);
  }
  return table.text();
}

void print(const Shown& s) {
  if (s.device) {
    const BlockDevice& d = *s.device;
    say("{}{}, {}\n", d.node, d.node == "/dev/" + d.disk ? "" : ", a partition of " + d.disk,
        format_bytes(Bytes{d.size}));
    if (s.stack.size() > 1) {
      say("stands on   {}\n", joined(std::span(s.stack).subspan(1), ", "));
    }
    say("schedulers  {}\n", joined(s.schedulers, ", "));
  }
  say_text(table_text(s));
  for (const Borrowed& b : s.borrowed) {
    say("borrowed    {}: {}, {}\n", b.loan.what, b.state, b.holder);
  }
  for (const std::string& problem : s.problems) {
    warn(problem);
  }
}

struct ShowOptions {
  std::string device;
  bool json = false;
};

Result<Exit> show(const ShowOptions& o) {
  BLKSWEEP_TRY(const Shown shown, look(o.device));
  if (o.json) {
    say_json(to_json(shown));
  } else {
    print(shown);
  }
  return Exit::done;
}

}  // namespace

void add_node_show(Verbs& verbs, Command node) {
  const auto o = std::make_shared<ShowOptions>();
  Command app = node.add_subcommand("show", "settings of a device and of the node");
  app.footer(kNodeShowExamples);
  app.add_option("DEV|PATH", o->device, "a device, or a path on it");
  app.add_flag("--json", o->json, "one JSON document");
  app.callback([&verbs, o] { verbs.action = [o] { return show(*o); }; });
}

}  // namespace blksweep
