#include "cli/run/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>

#include "base/text.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/run/cell_meaning.h"
#include "cli/run/controls.h"
#include "cli/run/peers.h"

namespace blksweep {

EmissionCount RunOptions::emitted() const {
  const auto ours = std::ranges::count(cells, Control::none, &CellSettings::control);
  return {static_cast<std::uint64_t>(ours), most_repeats()};
}

namespace {

// Of `repeats = auto` alone.
constexpr std::array<std::string_view, 3> kPrecisionOptions{"precision", "repeats-max",
                                                            "time-limit"};
constexpr std::array<std::string_view, 25> kRunOptions{
    "data",       "catalog",   "db",           "model",        "disk-label",
    "repeats",    "seed",      "verify",       "fio-twin",     "probe",
    "ceiling",    "json",      "check",        "follow-links", "workdir",
    "report",     "peer-data", "peer-timeout", "precision",    "repeats-max",
    "time-limit", "controls",  "emission",     "probe-layers", "probe-cache"};
constexpr std::uint64_t kMostRepeats = 100'000;

bool is_cell_option(std::string_view name) {
  return std::ranges::any_of(cell_options(), [&](const CellOption& o) { return o.name == name; });
}

std::vector<std::string> option_names() {
  std::vector<std::string> names(kRunOptions.begin(), kRunOptions.end());
  for (const CellOption& option : cell_options()) {
    names.emplace_back(option.name);
  }
  return names;
}

Result<> refuse_unknown(const CellText& text, const SpecPlaces& places) {
  for (const auto& [name, values] : text) {
    const auto found = places.find(name);
    const std::string at = found == places.end() ? "" : found->second.name + ": ";
    if (name.starts_with("no-") && is_run_option(name.substr(3))) {
      return usage_error(fmt::format("{}'{}': write {} = false", at, name, name.substr(3)));
    }
    if (!is_run_option(name) && !is_cell_option(name)) {
      return usage_error(fmt::format("{}'{}' is not an option of run{} (see blksweep run --help)",
                                     at, name, nearest_of(name, option_names())));
    }
  }
  return {};
}

// "--order: ..." with the place in the file, where the value came from one.
Error located(Error error, const CellText& command_line, const SpecPlaces& cell,
              const SpecPlaces& top) {
  const std::string& text = error.text;
  const std::size_t end = text.find(':');
  if (!text.starts_with("--") || end == std::string::npos) {
    return error;
  }
  const std::string name = text.substr(2, end - 2);
  for (const SpecPlaces* places : {&cell, &top}) {
    const auto found = places->find(name);
    if (found != places->end() && !command_line.contains(name)) {
      error.text = found->second.value + ": " + text;
      break;
    }
  }
  return error;
}

void override_with(CellText& base, const CellText& over) {
  for (const auto& [name, values] : over) {
    base[name] = values;
  }
}

// Where root writes, and what it may follow, is said on the command line.
Result<> refuse_strangers_wish(const Spec& spec) {
  for (const std::string name :
       {"db", "follow-links", "workdir", "report", "peer-data", "emission"}) {
    if (spec.of_stranger && spec.top.contains(name)) {
      return usage_error(fmt::format(
          "'{}' in a file of another user: root takes it from the command line only (--{})", name,
          name));
    }
  }
  std::vector<CellText> all = spec.cells;
  all.push_back(spec.top);
  for (const CellText& text : all) {
    const auto peers = text.find("peer");
    if (spec.of_stranger && peers != text.end() &&
        std::ranges::any_of(peers->second, [](auto& p) { return p.find('/') != p.npos; })) {
      return usage_error(
          "'peer' in a file of another user: root takes paths of programs from the command line "
          "only (--peer)");
    }
  }
  return {};
}

// Those that hold for the whole sweep: they are run beside its cells, once, and not in each of
// them.
CellText take_peers(CellText& top, CellText& over) {
  CellText text = top;
  override_with(text, over);
  top.erase("peer");
  over.erase("peer");
  return text.contains("peer") ? text : CellText{};
}

class Single {
 public:
  explicit Single(const CellText& text) : text_(text) {}

  Result<> take(std::string_view name, std::string& target) const {
    BLKSWEEP_TRY(const auto* value, find(name));
    target = value != nullptr ? *value : target;
    return {};
  }
  // Through a parser of base/units.h.
  template <class T>
  Result<> take(std::string_view name, T& target, Result<T> (*parse)(std::string_view)) const {
    BLKSWEEP_TRY(const auto* value, find(name));
    if (value == nullptr) {
      return {};
    }
    const Result<T> parsed = parse(*value);
    if (!parsed) {
      return usage_error(fmt::format("--{}: {}", name, parsed.error().message()));
    }
    target = *parsed;
    return {};
  }
  Result<> take(std::string_view name, bool& target) const {
    BLKSWEEP_TRY(const auto* value, find(name));
    if (value != nullptr && *value != "true" && *value != "false") {
      return usage_error(fmt::format("--{}: '{}' is not true or false", name, *value));
    }
    target = value != nullptr ? *value == "true" : target;
    return {};
  }

 private:
  Result<const std::string*> find(std::string_view name) const {
    const auto found = text_.find(name);
    if (found == text_.end()) {
      return nullptr;
    }
    if (found->second.size() != 1) {
      return usage_error(fmt::format("--{}: takes one value", name));
    }
    return &found->second.front();
  }
  const CellText& text_;
};

Result<> take_peer_settings(PeerSettings& peers, const Single& one) {
  std::string patience;
  BLKSWEEP_CHECK(one.take("peer-timeout", patience));
  if (!patience.empty()) {
    const auto time = parse_duration(patience);
    if (!time || time->count() <= 0) {
      return usage_error(fmt::format("--peer-timeout: '{}' is not a time such as 600s", patience));
    }
    peers.patience = *time;
  }
  BLKSWEEP_CHECK(one.take("peer-data", peers.folder));
  if (!peers.folder.empty()) {  // a peer runs in a folder of its own
    std::error_code ec;
    const auto folder = std::filesystem::absolute(peers.folder, ec).lexically_normal();
    peers.folder = (folder.has_filename() ? folder : folder.parent_path()).string();
  }
  return {};
}

Result<> take_number_of_repeats(RunOptions& o, const CellText& all) {
  for (const std::string_view name : kPrecisionOptions) {
    if (all.contains(name)) {
      return usage_error(fmt::format("--{}: only with --repeats auto", name));
    }
  }
  std::uint64_t repeats = o.repeats;
  BLKSWEEP_CHECK(Single(all).take("repeats", repeats, parse_count));
  if (repeats < 1 || repeats > kMostRepeats) {
    return usage_error(
        fmt::format("--repeats: '{}' is not between 1 and {}", repeats, kMostRepeats));
  }
  o.repeats = static_cast<std::uint32_t>(repeats);
  return {};
}

Result<> take_repeats(RunOptions& o, const CellText& all) {
  const Single one(all);
  std::string repeats;
  BLKSWEEP_CHECK(one.take("repeats", repeats));
  if (repeats != "auto") {
    return take_number_of_repeats(o, all);
  }
  PrecisionRule& rule = o.precision.emplace();
  std::uint64_t most = rule.most_rounds;
  BLKSWEEP_CHECK(one.take("precision", rule.half_width, parse_percent));
  BLKSWEEP_CHECK(one.take("repeats-max", most, parse_count));
  if (most < kPilotRounds || most > kMostRepeats) {
    return usage_error(fmt::format("--repeats-max: '{}' is not between {}, the pilot, and {}", most,
                                   kPilotRounds, kMostRepeats));
  }
  rule.most_rounds = most;
  if (all.contains("time-limit")) {
    BLKSWEEP_CHECK(one.take("time-limit", rule.time_limit.emplace(), parse_duration));
    if (*rule.time_limit <= Nanos{0}) {
      return usage_error("--time-limit: is longer than 0");
    }
  }
  return {};
}

// What would go without a word: one of both is meant.
Result<> check_flags(const RunOptions& o) {
  if (o.verify && !o.check) {
    return usage_error("--verify checks all samples and --no-check none: leave one out");
  }
  if (!o.probe && o.probe_layers) {
    return usage_error("--probe-layers is a part of the probe that --no-probe leaves out");
  }
  return {};
}

Result<> take_run_options(RunOptions& o, const CellText& all) {
  const Single one(all);
  for (const auto& [name, target] : {std::pair{"data", &o.data},
                                     {"catalog", &o.catalog},
                                     {"db", &o.db},
                                     {"model", &o.model},
                                     {"disk-label", &o.disk_label},
                                     {"workdir", &o.workdir},
                                     {"report", &o.report},
                                     {"emission", &o.emission}}) {
    BLKSWEEP_CHECK(one.take(name, *target));
  }
  for (const auto& [name, target] : {std::pair{"verify", &o.verify},
                                     {"check", &o.check},
                                     {"follow-links", &o.follow_links},
                                     {"probe", &o.probe},
                                     {"probe-layers", &o.probe_layers},
                                     {"probe-cache", &o.probe_cache},
                                     {"ceiling", &o.ceiling},
                                     {"controls", &o.controls},
                                     {"json", &o.json}}) {
    BLKSWEEP_CHECK(one.take(name, *target));
  }
  BLKSWEEP_CHECK(check_flags(o));
  std::string twins = "none";
  BLKSWEEP_CHECK(one.take("fio-twin", twins));
  const std::optional<TwinArms> arms = twin_arms(twins);
  if (!arms) {
    return usage_error(
        fmt::format("--fio-twin: '{}' is not one of grouped, plain, both, none", twins));
  }
  o.twins = *arms;
  BLKSWEEP_CHECK(take_peer_settings(o.peers, one));
  BLKSWEEP_CHECK(take_repeats(o, all));
  BLKSWEEP_CHECK(one.take("seed", o.seed, parse_count));
  if (o.data.empty() == o.catalog.empty()) {
    return usage_error("run needs either --data DIR or --catalog FILE");
  }
  return {};
}

// The options by which two cells of equal words differ.
void note_folded(std::set<std::string>& folded, const CellSettings& kept,
                 const CellSettings& dropped) {
  for (const CellOption& option : cell_options()) {
    if (option.get(kept) != option.get(dropped)) {
      folded.insert(needed_for(option.name));
    }
  }
}

struct Folding {
  std::map<std::vector<std::pair<std::string, std::string>>, std::size_t>
      first;                     // of each cell by its description
  std::set<std::string> folded;  // what was said twice
};

Result<> add_cells(RunOptions& o, CellText text, Folding& folding) {
  std::erase_if(text, [](const auto& item) { return is_run_option(item.first); });
  BLKSWEEP_TRY(const std::vector<CellSettings> cells, expand_with_peers(text));
  for (const CellSettings& cell : cells) {
    const auto [first, is_new] = folding.first.try_emplace(describe(cell), o.cells.size());
    if (is_new) {
      o.cells.push_back(cell);
    } else {
      note_folded(folding.folded, o.cells[first->second], cell);
    }
  }
  if (o.cells.size() > kMostCells) {
    return usage_error(fmt::format("more than {} cells: sweep in parts", kMostCells));
  }
  return {};
}

}  // namespace

std::optional<TwinArms> twin_arms(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, TwinArms>, 6> kWords{{{"grouped", {true, false}},
                                                                         {"true", {true, false}},
                                                                         {"plain", {false, true}},
                                                                         {"both", {true, true}},
                                                                         {"none", {}},
                                                                         {"false", {}}}};
  const auto* found = std::ranges::find(kWords, text, &decltype(kWords)::value_type::first);
  return found == kWords.end() ? std::nullopt : std::optional(found->second);
}

bool is_run_option(std::string_view name) {
  return std::ranges::find(kRunOptions, name) != kRunOptions.end();
}

Result<RunOptions> parse_run_options(const Spec& given, const CellText& command_line) {
  Spec spec = given;
  CellText over = command_line;
  fold_io_flags(over);
  fold_io_flags(spec.top);
  BLKSWEEP_CHECK(refuse_unknown(spec.top, spec.top_places));
  BLKSWEEP_CHECK(refuse_strangers_wish(spec));
  if (over.contains("data") || over.contains("catalog")) {
    spec.top.erase("data");
    spec.top.erase("catalog");
  }
  if (over.contains("repeats")) {  // a number in place of a file's auto takes its rule away
    for (const std::string_view name : kPrecisionOptions) {
      spec.top.erase(std::string(name));
    }
  }
  RunOptions o;
  CellText all = spec.top;
  override_with(all, over);
  if (const Result<> taken = take_run_options(o, all); !taken) {
    return tl::unexpected(located(taken.error(), over, {}, spec.top_places));
  }
  Folding folding;
  const CellText peers = take_peers(spec.top, over);
  if (spec.cells.empty()) {
    spec.cells.emplace_back();
  }
  spec.cell_places.resize(spec.cells.size());
  for (std::size_t c = 0; c < spec.cells.size(); ++c) {
    CellText& cell = spec.cells[c];
    const SpecPlaces& places = spec.cell_places[c];
    fold_io_flags(cell);
    BLKSWEEP_CHECK(refuse_unknown(cell, places));
    CellText text = spec.top;
    override_with(text, cell);
    override_with(text, over);
    if (const Result<> added = add_cells(o, std::move(text), folding); !added) {
      return tl::unexpected(located(added.error(), over, places, spec.top_places));
    }
  }
  if (!peers.empty()) {
    if (const Result<> added = add_cells(o, peers, folding); !added) {
      return tl::unexpected(located(added.error(), over, {}, spec.top_places));
    }
  }
  if (!o.emission.empty()) {
    BLKSWEEP_CHECK(check_emission_name(o.emission, o.emitted()));
  }
  if (const auto& folded = folding.folded; !folded.empty()) {
    o.folded = fmt::format(
        "not swept where it means nothing ({}): {} left", joined(folded, "; "),
        o.cells.size() == 1 ? "1 cell is" : fmt::format("{} cells are", o.cells.size()));
  }
  if (o.controls) {
    add_controls(o.cells);
  }
  return o;
}

}  // namespace blksweep
