#include "store/summary/labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "base/units.h"

namespace blksweep {
namespace {

// Settings whose value speaks for itself.
constexpr std::array<std::string_view, 11> kPlain{"disk",     "reader", "order", "merge",
                                                  "shuffle",  "engine", "copy",  "cache",
                                                  "consumer", "mode",   "peer"};

// Values that say "nothing was done"; but "none" is a scheduler as others are.
constexpr std::array<std::string_view, 5> kIdle{"none", "keep", "false", "0%", "-"};

std::string setting_text(const std::string& name, const std::string& value) {
  if (std::ranges::find(kPlain, name) != kPlain.end()) {
    return value;
  }
  if (name.starts_with("peer-")) {
    return name.substr(5) + " " + value;
  }
  const auto count = parse_count(value);
  if (count && name.ends_with("_bytes")) {
    return fmt::format("{} {}", name.substr(0, name.size() - 6), format_bytes({*count}));
  }
  if (count && name.ends_with("_ns")) {
    return fmt::format("{} {}", name.substr(0, name.size() - 3),
                       format_duration(Nanos{static_cast<Nanos::rep>(*count)}));
  }
  const auto time = parse_duration(value);
  return name + " " + (time && value.ends_with("ns") ? format_duration(*time) : value);
}

constexpr std::string_view kNoMeaning = "-";

bool says_nothing(const std::string& name, const std::string& value) {
  return name == "scheduler" ? value == kNoMeaning : std::ranges::find(kIdle, value) != kIdle.end();
}

// Among ours, or among peers: most of what our cells set means nothing to those. In brief, where it
// means something: the only value that any cell has goes without saying.
struct Among {
  bool peers, brief;
};

bool varies(const std::vector<CellRecord>& cells, std::string_view name, const Among& among) {
  std::set<std::string> values;
  for (const CellRecord& c : cells) {
    if (is_peer(c) == among.peers) {
      values.insert(setting_of(c, name));
    }
  }
  return values.size() - (among.brief ? values.count(std::string(kNoMeaning)) : 0) > 1;
}

std::set<std::string> varying_settings(const std::vector<CellRecord>& cells, const Among& among) {
  std::set<std::string> varying;
  for (const CellRecord& cell : cells) {
    for (const auto& [name, value] : cell.settings) {
      if (is_peer(cell) == among.peers && !varying.contains(name) && varies(cells, name, among)) {
        varying.insert(name);
      }
    }
  }
  return varying;
}

std::string label(const CellRecord& cell, const std::set<std::string>& varying, bool brief) {
  const bool unshuffled = setting_of(cell, "shuffle") == "none";
  std::string text;
  for (const auto& [name, value] : cell.settings) {
    const bool idle =
        says_nothing(name, value) || (unshuffled && name.starts_with("window")) ||
        (name.starts_with("sort-window") && value == "0") ||
        name == "merge-horizon";  // goes with order and merge, unless it was asked for
    const bool always = name == (is_peer(cell) ? "peer" : "order");
    if ((always || varying.contains(name)) && !(brief && idle)) {
      const std::string part = value == "none" ? name + " none" : setting_text(name, value);
      text += (text.empty() ? "" : " + ") + part;
    }
  }
  return text.empty() ? "all defaults" : text;
}

}  // namespace

std::string setting_of(const CellRecord& cell, std::string_view name) {
  const auto at =
      std::ranges::find(cell.settings, name, &std::pair<std::string, std::string>::first);
  return at == cell.settings.end() ? "" : at->second;
}

bool is_peer(const CellRecord& cell) {
  const std::string peer = setting_of(cell, "peer");
  return !peer.empty() && peer != kNoMeaning;
}

// experiment/ writes "emulated hdd-7200 x1" as the model of an emulated disk.
std::string disk_label(const HostRecord& host) {
  constexpr std::string_view kEmulated = "emulated ";
  if (!host.device_label.empty()) {
    return host.device_label;
  }
  const std::string& model = host.device_model;
  if (model.starts_with(kEmulated)) {
    std::string name = model.substr(kEmulated.size());
    name.erase(name.ends_with(" x1") ? name.size() - 3 : name.size());
    return name + " (emulated)";
  }
  const std::string device = host.device.substr(host.device.rfind('/') + 1);
  return model.empty() ? device : fmt::format("{} ({})", device, model);
}

bool matches(const CellRecord& cell, const CellFilter& filter) {
  return std::ranges::all_of(filter, [&](const auto& wanted) {
    return std::ranges::any_of(filter, [&](const auto& alternative) {
      return alternative.first == wanted.first &&
             setting_of(cell, wanted.first) == alternative.second;
    });
  });
}

namespace {

std::vector<std::string> labels_of_experiment(const std::vector<CellRecord>& cells) {
  const auto named = [&cells](bool brief) {
    const std::array varying{varying_settings(cells, {false, brief}),
                             varying_settings(cells, {true, brief})};
    std::vector<std::string> labels;
    for (const CellRecord& cell : cells) {
      labels.push_back(label(cell, varying[is_peer(cell) ? 1 : 0], brief));
    }
    return labels;
  };
  const std::vector<std::string> brief = named(true), whole = named(false);
  std::vector<std::string> labels = brief;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (std::ranges::count(brief, brief[i]) > 1) {
      labels[i] = whole[i];
    }
  }
  return labels;
}

// What they are named by is what they are there for; ram has one in each order.
std::string control_label(const CellRecord& cell) {
  const std::string control = setting_of(cell, "control");
  return "control " + control + (control == "ram" ? " " + setting_of(cell, "order") : "");
}

}  // namespace

std::vector<std::string> cell_labels(const std::vector<CellRecord>& cells) {
  std::vector<CellRecord> own;
  std::ranges::copy_if(cells, std::back_inserter(own),
                       [](const CellRecord& c) { return setting_of(c, "control").empty(); });
  const std::vector<std::string> of_own = labels_of_experiment(own);
  std::vector<std::string> labels;
  auto next = of_own.begin();
  for (const CellRecord& c : cells) {
    labels.push_back(setting_of(c, "control").empty() ? *next++ : control_label(c));
  }
  return labels;
}

}  // namespace blksweep
