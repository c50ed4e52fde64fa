#include "cli/run/dry_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "base/json.h"
#include "base/text.h"
#include "cli/answer.h"
#include "dataset/planned.h"
#include "rig/needs.h"
#include "simulate/predict_run.h"
#include "store/result_reader.h"
#include "store/summary/labels.h"

namespace blksweep {
namespace {

struct Expected {
  std::uint64_t done = 0;            // runs that the database has
  std::optional<Nanos> of_one, all;  // a run; those that are left
  std::string from;                  // "earlier runs", "simulated"; empty: unknown
};

struct DrySite {
  const PlannedSite& planned;
  std::vector<std::string> labels;
  std::uint64_t runs = 0;
  Expected expected;
};

using Settings = std::vector<std::pair<std::string, std::string>>;

// With what lies between runs: dropping caches, twins, ceilings.
std::optional<Nanos> median_step(std::vector<StoredRun> runs) {
  std::erase_if(runs, [](const StoredRun& r) { return r.run.incomplete || r.run.epoch_ns <= 0; });
  std::ranges::sort(runs, {}, [](const StoredRun& r) { return r.run.started_unix_ns; });
  std::vector<std::int64_t> steps;
  for (std::size_t i = 1; i < runs.size(); ++i) {
    if (runs[i].run.session_id == runs[i - 1].run.session_id) {
      steps.push_back(runs[i].run.started_unix_ns - runs[i - 1].run.started_unix_ns);
    }
  }
  if (steps.empty() && !runs.empty()) {
    steps.push_back(runs.back().run.epoch_ns);
  }
  if (steps.empty()) {
    return std::nullopt;
  }
  std::ranges::nth_element(steps, steps.begin() + std::ssize(steps) / 2);
  return Nanos(steps[steps.size() / 2]);
}

// The repeats of our cells that are there, in one experiment.
std::uint64_t count_done(const RunOptions& o, const std::vector<StoredCell>& cells,
                         const std::vector<StoredRun>& runs) {
  std::set<std::pair<std::int64_t, std::uint32_t>> done;
  for (const CellSettings& wanted : o.cells) {
    const Settings words = describe(wanted);
    const auto cell =
        std::ranges::find_if(cells, [&](const StoredCell& c) { return c.cell.settings == words; });
    for (const StoredRun& r : runs) {
      if (cell != cells.end() && r.cell_id == cell->id && !r.run.incomplete &&
          r.run.repeat < o.most_repeats()) {
        done.emplace(cell->id, r.run.repeat);
      }
    }
  }
  return done.size();
}

Result<Expected> from_database(const RunOptions& o) {
  Expected expected;
  std::error_code ignored;
  if (o.db.empty() || !std::filesystem::exists(o.db, ignored)) {
    return expected;
  }
  BLKSWEEP_TRY(ResultReader reader, ResultReader::open(o.db));
  BLKSWEEP_TRY(std::vector<StoredExperiment> all, reader.experiments());
  std::erase_if(all, [&](const StoredExperiment& e) {
    return e.runs == 0 || e.host.device_label != o.disk_label;
  });
  for (auto e = all.rbegin(); e != all.rend() && expected.done == 0; ++e) {
    BLKSWEEP_TRY(const std::vector<StoredCell> cells, reader.cells(e->id));
    BLKSWEEP_TRY(const std::vector<StoredRun> runs, reader.runs(e->id));
    expected.done = count_done(o, cells, runs);
    if (expected.done > 0) {
      expected.of_one = median_step(runs);
      expected.from = expected.of_one ? "earlier runs" : "";
    }
  }
  return expected;
}

// Of one repeat of all cells; nothing where a cell cannot be simulated.
std::optional<Nanos> simulated_round(const PlannedSite& planned) {
  const Site& site = planned.site;
  const auto* image = site.disk != nullptr ? std::get_if<ImageDisk>(&site.disk->what) : nullptr;
  const auto* make = site.data != nullptr ? std::get_if<MakeSettings>(&site.data->what) : nullptr;
  const auto parts = make != nullptr && image != nullptr && image->model
                         ? planned_catalog(*make)
                         : std::optional<CatalogParts>();
  if (!parts) {
    return std::nullopt;
  }
  Source source;
  source.catalog = parts->view();
  source.direct_align = kSectorBytes;
  const PredictSettings how{.model = *image->model, .size = image->size, .speedup = image->speedup};
  Nanos sum{0};
  for (const CellSettings& cell : planned.options.cells) {
    if (cell.control == Control::ram || cell.control == Control::no_op) {
      continue;  // in memory, or nothing: not on this model
    }
    const auto epoch = plan_epoch(source, cell, planned.options.seed);
    const auto p = epoch ? predict_run(source, cell, *epoch, {how, planned.options.seed})
                         : Result<Prediction>(tl::unexpected(epoch.error()));
    if (!p) {
      return std::nullopt;
    }
    sum += Nanos(p->epoch_ns);
  }
  return sum;
}

Result<DrySite> look_at(const PlannedSite& planned) {
  const RunOptions& o = planned.options;
  std::vector<CellRecord> records;
  for (const CellSettings& cell : o.cells) {
    records.push_back({describe(cell)});
  }
  DrySite site{planned, cell_labels(records), o.cells.size() * o.most_repeats(), {}};
  BLKSWEEP_TRY(site.expected, from_database(o));
  Expected& e = site.expected;
  const auto left = static_cast<std::int64_t>(site.runs - std::min(e.done, site.runs));
  if (e.of_one) {
    e.all = *e.of_one * left;
  } else if (const auto round = simulated_round(planned)) {
    e.all = *round * left / std::max<std::int64_t>(std::ssize(o.cells), 1);
    e.from = "simulated";
  }
  return site;
}

std::string time_text(const Expected& e) {
  if (!e.all) {
    return "time unknown";
  }
  if (*e.all == Nanos(0)) {
    return "nothing is left to be run";
  }
  return e.from == "simulated" ? fmt::format("at least {} (simulated)", format_duration(*e.all))
                               : fmt::format("about {} (from {})", format_duration(*e.all), e.from);
}

void print_text(const std::vector<DrySite>& all, const CampaignPlan& plan, const RigNeeds& needs) {
  for (const DrySite& s : all) {
    const std::string name = s.planned.site.data != nullptr   ? s.planned.site.label()
                             : s.planned.options.data.empty() ? s.planned.options.catalog
                                                              : s.planned.options.data;
    say("{}: {} cells, {}{} runs, {} of them done; {}\n", name, s.labels.size(),
        s.planned.options.precision ? "at most " : "", s.runs, s.expected.done,
        time_text(s.expected));
    for (const std::string& label : s.labels) {
      say("  {}\n", label);
    }
  }
  if (plan.rig != nullptr) {
    say("to be made: {}\n", needs.to_make.empty() ? "nothing" : joined(needs.to_make, "; "));
    say("space: {} needed, {} free{}\n", format_bytes(needs.space), format_bytes(needs.free),
        needs.memory.n > 0
            ? fmt::format("; memory: {} for the emulated disk", format_bytes(needs.memory))
            : "");
  }
}

Json site_json(const DrySite& s) {
  const Site& site = s.planned.site;
  return {
      {"disk", site.disk != nullptr ? Json(site.disk->name) : Json(nullptr)},
      {"data", site.data != nullptr ? Json(site.data->name) : Json(nullptr)},
      {"cells", s.labels},
      {"repeats", s.planned.options.precision ? Json(nullptr) : Json(s.planned.options.repeats)},
      {"runs", s.runs},
      {"done", s.expected.done},
      {"expected_ns", s.expected.all ? Json(s.expected.all->count()) : Json(nullptr)},
      {"expected_from", or_null(s.expected.from)}};
}

Json document_of(const std::vector<DrySite>& all, const CampaignPlan& plan, const RigNeeds& needs) {
  Json sites = Json::array();
  std::uint64_t runs = 0, done = 0;
  std::optional<Nanos> time{Nanos(0)};
  for (const DrySite& s : all) {
    sites.push_back(site_json(s));
    runs += s.runs;
    done += s.expected.done;
    time = time && s.expected.all ? std::optional(*time + *s.expected.all) : std::nullopt;
  }
  Json out{{"sites", sites}, {"runs", runs}, {"done", done}};
  out["expected_ns"] = time ? Json(time->count()) : Json(nullptr);
  const bool rig = plan.rig != nullptr;
  out["to_make"] = needs.to_make;
  out["space_needed_bytes"] = rig ? Json(needs.space.n) : Json(nullptr);
  out["space_free_bytes"] = rig ? Json(needs.free.n) : Json(nullptr);
  out["memory_bytes"] = rig ? Json(needs.memory.n) : Json(nullptr);
  return out;
}

}  // namespace

Result<Exit> dry_run(const CampaignPlan& plan) {
  std::vector<DrySite> all;
  for (const PlannedSite& planned : plan.sites) {
    BLKSWEEP_TRY(DrySite site, look_at(planned));
    all.push_back(std::move(site));
  }
  const RigNeeds needs = plan.rig != nullptr ? needs_of(*plan.rig) : RigNeeds{};
  if (plan.json) {
    say_json(document_of(all, plan, needs));
  } else {
    print_text(all, plan, needs);
  }
  return Exit::done;
}

}  // namespace blksweep
