#include "cli/report/experiments.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "cli/run/cell_options.h"

namespace blksweep {
namespace {

// An experiment that never came to a run (killed, refused) hides nothing.
Result<std::vector<StoredExperiment>> newest_with_runs(std::vector<StoredExperiment> all,
                                                       const std::string& db) {
  const auto newest =
      std::find_if(all.rbegin(), all.rend(), [](const StoredExperiment& e) { return e.runs > 0; });
  if (newest == all.rend()) {
    return fail(fmt::format("{} has no run yet: 'blksweep run --db {}' adds some", db, db));
  }
  return std::vector<StoredExperiment>{std::move(*newest)};
}

Result<std::vector<StoredExperiment>> chosen(std::vector<StoredExperiment> all,
                                             const ExperimentChoice& choice) {
  if (all.empty()) {
    return fail(choice.db + " has no experiment: 'blksweep run --db " + choice.db + "' adds one");
  }
  if (choice.which == "newest") {  // the one that was begun or gone on with last
    return newest_with_runs(std::move(all), choice.db);
  }
  std::ranges::sort(all, {}, &StoredExperiment::id);
  if (choice.which == "all") {
    const bool any = std::ranges::any_of(all, [](const auto& e) { return e.runs > 0; });
    std::erase_if(all, [any](const StoredExperiment& e) { return any && e.runs == 0; });
    return all;
  }
  std::set<std::string> wanted;
  for (const std::string& id : split_list(choice.which)) {
    if (std::ranges::none_of(all, [&](const auto& e) { return std::to_string(e.id) == id; })) {
      return usage_error(fmt::format("--experiment: '{}' is not in {}, which has 1 to {}", id,
                                     choice.db, all.back().id));
    }
    wanted.insert(id);
  }
  std::erase_if(all, [&](const auto& e) { return !wanted.contains(std::to_string(e.id)); });
  return all;
}

using Settings = std::vector<std::pair<std::string, std::string>>;

struct Loaded {  // of an experiment
  std::vector<StoredCell> cells;
  std::set<std::string> data;  // that its complete runs read
};

// Its blocks, or where they are not known its folder, and into how many samples they are divided.
std::set<std::string> data_of(const StoredExperiment& e, const std::vector<StoredCell>& cells,
                              const std::vector<StoredRun>& runs) {
  std::map<std::int64_t, std::uint64_t> epochs;
  for (const StoredCell& c : cells) {
    epochs[c.id] =
        std::max<std::uint64_t>(parse_count(setting_of(c.cell, "epochs")).value_or(1), 1);
  }
  std::set<std::string> data;
  for (const StoredRun& r : runs) {
    if (!r.run.incomplete) {
      data.insert(fmt::format("{}/{}", r.run.layout.value_or(e.data_root),
                              r.run.samples / epochs[r.cell_id]));
    }
  }
  return data;
}

// Whether a number of one may stand beside a number of the other under one name.
bool alike(const StoredExperiment& a, const Loaded& of_a, const StoredExperiment& b,
           const Loaded& of_b) {
  return a.facts_hash == b.facts_hash && a.host.layers == b.host.layers &&
         std::ranges::any_of(of_a.data,
                             [&](const std::string& d) { return of_b.data.contains(d); });
}

// Disks are told apart by number where their names do not: the same cell in two experiments, other
// data, or one name for two stacks of devices or nodes, each with a ceiling of its own.
std::vector<std::string> name_disks(const std::vector<StoredExperiment>& experiments,
                                    const std::vector<Loaded>& loaded) {
  std::map<std::string, std::set<Settings>> seen;
  std::map<std::string, std::size_t> first;
  std::set<std::string> twice;
  for (std::size_t e = 0; e < experiments.size(); ++e) {
    const std::string disk = disk_label(experiments[e].host);
    const std::size_t before = first.try_emplace(disk, e).first->second;
    if (!alike(experiments[before], loaded[before], experiments[e], loaded[e])) {
      twice.insert(disk);
    }
    for (const StoredCell& c : loaded[e].cells) {
      if (!seen[disk].insert(c.cell.settings).second) {
        twice.insert(disk);
      }
    }
  }
  std::vector<std::string> disks;
  for (const StoredExperiment& e : experiments) {
    const std::string disk = disk_label(e.host);
    disks.push_back(twice.contains(disk) ? fmt::format("{} #{}", disk, e.id) : disk);
  }
  return disks;
}

// Round 0 of another experiment is another round.
void add_ceilings(std::vector<CeilingRecord>& all, std::vector<CeilingRecord> more) {
  std::uint32_t rounds = 0;
  for (const CeilingRecord& c : all) {
    rounds = std::max(rounds, c.round + 1);
  }
  for (CeilingRecord& c : more) {
    c.round += rounds;
  }
  std::ranges::move(more, std::back_inserter(all));
}

}  // namespace

Result<JoinedExperiments> join_experiments(ResultReader& reader, const ExperimentChoice& choice) {
  BLKSWEEP_TRY(auto all, reader.experiments());
  JoinedExperiments joined;
  const std::size_t stored = all.size();
  BLKSWEEP_TRY(joined.experiments, chosen(std::move(all), choice));
  joined.others = stored - joined.experiments.size();
  std::vector<Loaded> loaded(joined.experiments.size());
  for (std::size_t e = 0; e < loaded.size(); ++e) {
    BLKSWEEP_TRY(loaded[e].cells, reader.cells(joined.experiments[e].id));
    BLKSWEEP_TRY(auto runs, reader.runs(joined.experiments[e].id));
    loaded[e].data = data_of(joined.experiments[e], loaded[e].cells, runs);
    std::ranges::move(runs, std::back_inserter(joined.input.runs));
  }
  const bool several = joined.experiments.size() > 1;
  if (several) {
    joined.disks = name_disks(joined.experiments, loaded);
  }
  for (std::size_t e = 0; e < loaded.size(); ++e) {
    const std::string disk = several ? joined.disks[e] : "";
    for (StoredCell& cell : loaded[e].cells) {
      if (several) {
        cell.cell.settings.insert(cell.cell.settings.begin(), {"disk", disk});
      }
      joined.input.cells.push_back(std::move(cell));
    }
    add_ceilings(joined.input.ceilings[disk], joined.experiments[e].ceilings);
    joined.input.hosts[disk] = joined.experiments[e].host;
    if (joined.experiments[e].stopping) {
      joined.input.stopping[disk] = *joined.experiments[e].stopping;
    }
  }
  return joined;
}

}  // namespace blksweep
