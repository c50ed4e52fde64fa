#include "store/summary/rig_disk.h"

#include <algorithm>
#include <array>
#include <functional>

#include "store/summary/labels.h"

namespace blksweep {
namespace {

// Our own cells are compared; a peer is another program, and a control is judged against them.
bool is_ours(const RigCell& c) { return c.control.empty() && !is_peer(c.cell->cell); }

CellRecord without_control(const CellRecord& cell) {
  CellRecord out = cell;
  std::erase_if(out.settings, [](const auto& s) { return s.first == "control"; });
  return out;
}

// What the controls were made of, whatever the figures are compared with: the cell that a/a
// repeats; where that is not there, by the rule of `run --controls`.
std::size_t baseline_of(const RigDisk& disk) {
  const RigCell* same = disk.control("a/a");
  std::vector<std::function<bool(const RigCell&)>> rules{
      [](const RigCell& c) { return matches(c.cell->cell, usual_baseline()); },
      [](const RigCell&) { return true; }};
  if (same != nullptr) {
    rules.insert(rules.begin(), [&](const RigCell& c) {
      return c.cell->cell.settings == without_control(same->cell->cell).settings;
    });
  }
  for (const auto& rule : rules) {
    const auto found =
        std::ranges::find_if(disk.cells, [&](const RigCell& c) { return is_ours(c) && rule(c); });
    if (found != disk.cells.end()) {
      return static_cast<std::size_t>(found - disk.cells.begin());
    }
  }
  return 0;
}

RigCell rig_cell(const StoredCell& cell, const std::vector<StoredRun>& runs) {
  RigCell c;
  c.cell = &cell;
  c.control = control_of(cell.cell);
  c.runs = counted_runs(runs, cell.id);
  for (const StoredRun& r : runs) {
    if (r.cell_id == cell.id) {
      c.all.push_back(&r);
    }
  }
  return c;
}

// None of these words is a wish.
bool sets(const CellRecord& cell, std::string_view name) {
  constexpr std::array<std::string_view, 7> kNot{"", "-", "none", "keep", "false", "0", "0%"};
  return std::ranges::find(kNot, setting_of(cell, name)) == kNot.end();
}

}  // namespace

bool keeps_pages(const CellRecord& cell) {
  const std::string cache = setting_of(cell, "cache");
  return cache == "warm" || cache == "drop-2" || sets(cell, "pin-pages");
}

bool waits_for_the_disk(const CellRecord& cell) {
  const bool buffered = setting_of(cell, "io") == "buffered";
  const std::string cache = setting_of(cell, "cache");
  return !(buffered && (keeps_pages(cell) || cache == "keep")) && !sets(cell, "consumer") &&
         !sets(cell, "bandwidth-limit") && !sets(cell, "iops-limit") && !sets(cell, "decode-cpu");
}

const RigCell* RigDisk::control(const std::string& name, const std::string& order) const {
  const auto found = std::ranges::find_if(cells, [&](const RigCell& c) {
    return c.control == name && (order.empty() || setting_of(c.cell->cell, "order") == order);
  });
  return found == cells.end() ? nullptr : &*found;
}

bool RigDisk::has_controls() const {
  return std::ranges::any_of(cells, [](const RigCell& c) { return !c.control.empty(); });
}

bool RigDisk::rotates() const {
  if (host == nullptr || !host->rotational.value_or(false)) {
    return false;
  }
  const auto& layers = host->layers;
  return emulated() ||
         (!layers.empty() && std::ranges::all_of(layers, [](const LayerFactRecord& l) {
           return l.name != "kind" ||
                  (l.value != "virtual" && l.value != "loop" && l.value != "memory");
         }));
}

bool RigDisk::emulated() const {
  return host != nullptr &&
         std::ranges::any_of(host->layers, [](auto& l) { return l.name == "emulation"; });
}

std::vector<RigDisk> rig_disks(const SummaryInput& input) {
  std::vector<RigDisk> disks;
  for (const StoredCell& cell : input.cells) {
    const std::string name = setting_of(cell.cell, "disk");
    auto disk = std::ranges::find(disks, name, &RigDisk::disk);
    if (disk == disks.end()) {
      const auto host = input.hosts.find(name);
      disks.push_back({.disk = name,
                       .host = host == input.hosts.end() ? nullptr : &host->second,
                       .cells = {},
                       .baseline = 0});
      disk = disks.end() - 1;
    }
    disk->cells.push_back(rig_cell(cell, input.runs));
  }
  std::ranges::sort(disks, {}, &RigDisk::disk);
  for (RigDisk& disk : disks) {
    disk.baseline = baseline_of(disk);
  }
  return disks;
}

}  // namespace blksweep
