#include "cli/report/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/log.h"
#include "base/text.h"
#include "cli/report/report_data.h"
#include "stats/quantile.h"
#include "store/schema/run_columns.h"
#include "store/summary/pairs.h"
#include "store/summary/rig_verdict.h"

namespace blksweep {
namespace {

using Texts = std::vector<std::pair<std::string, std::string>>;

// A visitor of run_columns.h that makes texts.
struct HostTexts {
  Texts& out;
  void operator()(std::string_view name, const std::string& text) {
    if (name != "argv") {  // of the session instead
      out.emplace_back(name, text);
    }
  }
  void operator()(std::string_view name, const Maybe<bool>& x) {
    out.emplace_back(name, x ? (*x ? "1" : "0") : "");
  }
  template <class T>
  void operator()(std::string_view name, const T& n) {
    out.emplace_back(name, std::to_string(n));
  }
};

Texts host_texts(const HostRecord& host) {
  Texts out;
  each_host_column(host, HostTexts{out});
  for (const auto& [name, value] : host.queue) {
    out.emplace_back("queue " + name, value);
  }
  for (const LayerFactRecord& l : host.layers) {
    out.emplace_back(l.disk + " " + l.name, l.value);
  }
  return out;
}

// What the complete runs read. Several texts: the data changed in between.
void add_data(Texts& out, const ComparedSide& side) {
  std::set<std::string> layouts, sizes, caches;
  for (const StoredRun& r : side.input.runs) {
    if (!r.run.incomplete) {
      layouts.insert(r.run.layout.value_or("unknown"));
      sizes.insert(fmt::format("{} samples, {} bytes", r.run.samples, r.run.bytes));
    }
  }
  const CommandRecord none, &command = side.command ? *side.command : none;
  out.emplace_back("data", command.data_root.value_or(""));
  out.emplace_back("data layout", joined(layouts, ", "));
  out.emplace_back("data read by a run", joined(sizes, ", "));
  out.emplace_back("catalog", command.catalog.value_or(""));
  out.emplace_back("command", command.argv);
  out.emplace_back("specification", command.spec_name.value_or(""));
}

std::map<std::string, std::set<std::string>> setting_values(const SummaryInput& input) {
  std::map<std::string, std::set<std::string>> values;
  for (const StoredCell& c : input.cells) {
    for (const auto& [name, value] : c.cell.settings) {
      values[name].insert(value);
    }
  }
  return values;
}

Texts fact_texts(const ComparedSide& side) {
  Texts out = host_texts(side.experiment.host);
  add_data(out, side);
  for (const auto& [name, values] : setting_values(side.input)) {
    out.emplace_back("setting " + name, joined(values, ", "));
  }
  return out;
}

std::vector<ComparedFact> compare_facts(const ComparedSide& a, const ComparedSide& b) {
  const Texts of_a = fact_texts(a), of_b = fact_texts(b);
  std::vector<ComparedFact> facts;
  const auto find = [](const Texts& texts, const std::string& name) {
    const auto at = std::ranges::find(texts, name, [](const auto& t) { return t.first; });
    return at == texts.end() ? std::string() : at->second;
  };
  for (const auto& [name, value] : of_a) {
    facts.push_back({name, value, find(of_b, name)});
  }
  for (const auto& [name, value] : of_b) {
    if (std::ranges::none_of(of_a,
                             [&, &known = name](const auto& t) { return t.first == known; })) {
      facts.push_back({name, "", value});
    }
  }
  return facts;
}

// Settings with one value on either side, which is another one on the other.
std::set<std::string> conditions(const ComparedSide& a, const ComparedSide& b) {
  const auto of_a = setting_values(a.input), of_b = setting_values(b.input);
  std::set<std::string> names;
  for (const auto& [name, values] : of_a) {
    const auto other = of_b.find(name);
    if (values.size() == 1 && other != of_b.end() && other->second.size() == 1 &&
        values != other->second) {
      names.insert(name);
    }
  }
  return names;
}

CellRecord without(const CellRecord& cell, const std::set<std::string>& names) {
  CellRecord out;
  for (const auto& setting : cell.settings) {
    if (!names.contains(setting.first)) {
      out.settings.push_back(setting);
    }
  }
  std::ranges::sort(out.settings);  // by name: programs of other versions may have another order
  return out;
}

std::size_t left_out(const SummaryInput& input, std::int64_t cell) {
  return static_cast<std::size_t>(std::ranges::count_if(
      input.runs, [&](const StoredRun& r) { return r.cell_id == cell && r.run.incomplete; }));
}

// A stop on width has met a variance that came out low, on either side.
double error_rate_of(const ComparedSide& a, const ComparedSide& b) {
  return a.input.stopping.empty() && b.input.stopping.empty() ? kErrorRate : kStoppedErrorRate;
}

Maybe<UnpairedRatio> ratio_of(const std::vector<double>& b, const std::vector<double>& a,
                              double error_rate) {
  return a.empty() || b.empty() ? Maybe<UnpairedRatio>() : unpaired_ratio(b, a, error_rate);
}

struct Match {
  const StoredCell *a, *b;
};

std::size_t in_both(const std::vector<const StoredRun*>& a,
                    const std::vector<const StoredRun*>& b) {
  const auto is_in_b = [&b](const StoredRun* x) {
    return std::ranges::any_of(b, [x](const StoredRun* y) {
      return y->run.started_unix_ns == x->run.started_unix_ns && y->run.epoch_ns == x->run.epoch_ns;
    });
  };
  return static_cast<std::size_t>(std::ranges::count_if(a, is_in_b));
}

ComparedCell compared(const ComparedSide& a, const ComparedSide& b, const Match& cell,
                      const Match& base, double error_rate) {
  ComparedCell out;
  out.a = cell.a->cell;
  out.b = cell.b->cell;
  const auto runs_a = counted_runs(a.input.runs, cell.a->id);
  const auto runs_b = counted_runs(b.input.runs, cell.b->id);
  const std::vector<double> of_a = speeds_of(runs_a), of_b = speeds_of(runs_b);
  out.runs_a = of_a.size();
  out.runs_b = of_b.size();
  out.in_both = in_both(runs_a, runs_b);
  out.left_out_a = left_out(a.input, cell.a->id);
  out.left_out_b = left_out(b.input, cell.b->id);
  out.median_a = of_a.empty() ? Maybe<double>() : median(of_a);
  out.median_b = of_b.empty() ? Maybe<double>() : median(of_b);
  out.ratio = ratio_of(of_b, of_a, error_rate);
  out.baseline = cell.a == base.a;
  if (!out.baseline) {
    out.relative =
        ratio_of(pair_ratios(runs_b, counted_runs(b.input.runs, base.b->id)).ratios,
                 pair_ratios(runs_a, counted_runs(a.input.runs, base.a->id)).ratios, error_rate);
  }
  return out;
}

// As a report has it: the one that is named, else random without merging, else the first.
Result<Match> baseline_of(const std::vector<Match>& both, const CellFilter& named) {
  for (const CellFilter& filter : {named, usual_baseline()}) {
    for (const Match& m : both) {
      if (!filter.empty() && matches(m.a->cell, filter)) {
        return m;
      }
    }
    if (!named.empty()) {
      return usage_error("--baseline: no cell that both have matches");
    }
  }
  return both.front();
}

void find_differences(Comparison& of, Maybe<UnpairedRatio> ComparedCell::*which) {
  std::vector<UnpairedRatio*> family;
  for (ComparedCell& c : of.cells) {
    if (c.*which) {
      family.push_back(&*(c.*which));
    }
  }
  show_differences(family, of.error_rate);
}

struct Matched {
  std::vector<Match> both;
  std::vector<const StoredCell*> only_a, only_b;
};

Matched match_cells(const ComparedSide& a, const ComparedSide& b) {
  const std::set<std::string> apart = conditions(a, b);
  std::map<Texts, const StoredCell*> of_b;
  for (const StoredCell& cell : b.input.cells) {
    of_b[without(cell.cell, apart).settings] = &cell;
  }
  Matched out;
  for (const StoredCell& cell : a.input.cells) {
    const auto found = of_b.find(without(cell.cell, apart).settings);
    if (found == of_b.end()) {
      out.only_a.push_back(&cell);
      continue;
    }
    out.both.push_back({&cell, found->second});
    of_b.erase(found);
  }
  for (const StoredCell& cell : b.input.cells) {
    if (std::ranges::any_of(of_b, [&](const auto& left) { return left.second == &cell; })) {
      out.only_b.push_back(&cell);
    }
  }
  return out;
}

std::vector<std::string> labels_of(const ComparedSide& side,
                                   const std::vector<const StoredCell*>& wanted) {
  std::vector<CellRecord> records;
  std::ranges::transform(side.input.cells, std::back_inserter(records), &StoredCell::cell);
  const std::vector<std::string> labels = cell_labels(records);
  std::vector<std::string> out;
  for (const StoredCell* cell : wanted) {
    out.push_back(labels[static_cast<std::size_t>(cell - side.input.cells.data())]);
  }
  return out;
}

}  // namespace

Result<ComparedSide> load_side(const ExperimentChoice& choice) {
  BLKSWEEP_TRY(ResultReader reader, ResultReader::open_moment(choice.db));
  BLKSWEEP_TRY(JoinedExperiments joined, join_experiments(reader, choice));
  if (joined.experiments.size() != 1) {
    return usage_error(
        fmt::format("{}: a comparison is of one experiment on either side: name one "
                    "of its {}",
                    choice.db, joined.experiments.size()));
  }
  ComparedSide side;
  side.experiment = std::move(joined.experiments.front());
  side.name = joined.others == 0 ? choice.db
                                 : fmt::format("{}, experiment {}", choice.db, side.experiment.id);
  side.input = without_controls(joined.input);  // they are of each rig alone
  std::int64_t last = 0;
  for (const StoredRun& r : side.input.runs) {
    last = std::max(last, r.run.session_id.value_or(0));
  }
  BLKSWEEP_TRY(side.command, reader.command(last));
  return side;
}

Result<Comparison> compare(const ComparedSide& a, const ComparedSide& b,
                           const CellFilter& baseline) {
  Comparison out;
  out.name_a = a.name;
  out.name_b = b.name;
  out.error_rate = error_rate_of(a, b);
  out.facts = compare_facts(a, b);
  const Matched matched = match_cells(a, b);
  out.only_a = labels_of(a, matched.only_a);
  out.only_b = labels_of(b, matched.only_b);
  if (matched.both.empty()) {
    return out;
  }
  BLKSWEEP_TRY(const Match base, baseline_of(matched.both, baseline));
  std::vector<CellRecord> could_be;
  std::ranges::transform(matched.both, std::back_inserter(could_be),
                         [](const Match& m) { return m.a->cell; });
  BLKSWEEP_CHECK(require_one(could_be, baseline));
  std::vector<const StoredCell*> of_a, of_b;
  for (const Match& m : matched.both) {
    out.cells.push_back(compared(a, b, m, base, out.error_rate));
    of_a.push_back(m.a);
    of_b.push_back(m.b);
  }
  const std::vector<std::string> names_a = labels_of(a, of_a), names_b = labels_of(b, of_b);
  for (std::size_t c = 0; c < names_a.size(); ++c) {
    // A label always names the order, or the peer: where the sides differ by it, that is A's alone.
    const bool alike = std::ranges::all_of(std::array{"order", "peer"}, [&](const char* name) {
      return setting_of(of_a[c]->cell, name) == setting_of(of_b[c]->cell, name);
    });
    out.cells[c].label = alike ? names_a[c] : names_a[c] + " | " + names_b[c];
  }
  find_differences(out, &ComparedCell::ratio);
  find_differences(out, &ComparedCell::relative);
  return out;
}

}  // namespace blksweep
