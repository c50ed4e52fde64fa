#include "store/labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "base/units.h"

namespace blksweep {
namespace {

// Settings whose value speaks for itself.
constexpr std::array<std::string_view, 10> kPlain{"disk", "order", "merge",    "shuffle", "engine",
                                                  "copy", "cache", "consumer", "mode",    "peer"};

// Values that say "nothing was done".
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

bool is_peer(const CellRecord& cell) {
  const std::string peer = setting_of(cell, "peer");
  return !peer.empty() && peer != "-";
}

// Among ours, or among peers: most of what our cells set means nothing to those.
bool varies(const std::vector<CellRecord>& cells, const CellRecord& cell, std::string_view name) {
  return std::ranges::any_of(cells, [&](const CellRecord& c) {
    return is_peer(c) == is_peer(cell) && setting_of(c, name) != setting_of(cell, name);
  });
}

std::string label(const CellRecord& cell, const std::set<std::string>& varying, bool brief) {
  const bool unshuffled = setting_of(cell, "shuffle") == "none";
  std::string text;
  for (const auto& [name, value] : cell.settings) {
    const bool idle =
        std::ranges::find(kIdle, value) != kIdle.end() ||
        (unshuffled && name.starts_with("window")) ||
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

std::vector<std::string> cell_labels(const std::vector<CellRecord>& cells) {
  std::array<std::set<std::string>, 2> varying;  // of ours, of peers
  for (const CellRecord& cell : cells) {
    for (const auto& [name, value] : cell.settings) {
      if (varies(cells, cell, name)) {
        varying[is_peer(cell) ? 1 : 0].insert(name);
      }
    }
  }
  std::vector<std::string> labels;
  for (const CellRecord& cell : cells) {
    labels.push_back(label(cell, varying[is_peer(cell) ? 1 : 0], true));
  }
  const std::vector<std::string> brief = labels;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (std::ranges::count(brief, brief[i]) > 1) {
      labels[i] = label(cells[i], varying[is_peer(cells[i]) ? 1 : 0], false);
    }
  }
  return labels;
}

}  // namespace blksweep
