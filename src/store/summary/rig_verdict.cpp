#include "store/summary/rig_verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "base/units.h"
#include "stats/quantile.h"
#include "store/summary/pairs.h"
#include "store/summary/rig_disk.h"

namespace blksweep {
namespace {

constexpr double kControlError = 0.01;  // of each control's test
constexpr double kRamMargin = 1.15;     // what LBA order may gain in memory beyond its CPU time
constexpr double kBlind = 2;            // a/a: a wider interval is said
constexpr double kNoGain = 1.1;     // less than this is no gain of an order on a disk that seeks
constexpr double kToolShare = 0.5;  // of what the tool can do without a device

double cpu_per_sample(const RigCell& c) {
  const std::vector<double> values = values_of_runs(c.runs, [](const RunRecord& r) {
    return r.samples > 0 && r.cpu_ns > 0
               ? Maybe<double>(static_cast<double>(r.cpu_ns) / static_cast<double>(r.samples))
               : std::nullopt;
  });
  return values.empty() ? 0 : median(values);
}

Maybe<PairedRatio> ratio_of(const RigCell& cell, const RigCell& to) {
  const std::vector<double> ratios = pair_ratios(cell.runs, to.runs).ratios;
  return ratios.empty() ? std::nullopt : Maybe<PairedRatio>(paired_ratio(ratios, kControlError));
}

std::string with_interval(const PairedRatio& r) {
  return r.interval
             ? fmt::format("{:.2f} [{:.2f}..{:.2f}]", r.value, r.interval->low, r.interval->high)
             : fmt::format("{:.2f}", r.value);
}

// How far from 1 its interval reaches, as a factor.
double widest(const PairedRatio& r) { return std::max(r.interval->high, 1 / r.interval->low); }

class Judge {
 public:
  Judge(const RigDisk& disk, RigVerdict& verdict) : disk_(disk), verdict_(verdict) {}

  void run() {
    watch_disk(disk_, remarks_);
    judge_same();
    judge_ram();
    judge_reverse();
    watch_rounds(disk_, remarks_);
    judge_no_op();
    for (RigRemark& r : remarks_) {
      r.text = disk_.disk.empty() ? r.text : printable(disk_.disk) + ": " + r.text;
      verdict_.remarks.push_back(std::move(r));
    }
  }

 private:
  void add(const RigCell& cell, const Maybe<PairedRatio>& ratio) {
    ControlFigure& f = verdict_.controls.emplace_back();
    f.name = cell.control;
    f.disk = disk_.disk;
    f.runs = f.name == "no-op" ? cell.runs.size() : ratio ? ratio->pairs : 0;
    f.ratio = ratio;
    std::vector<double> speeds;
    std::ranges::transform(cell.runs, std::back_inserter(speeds),
                           [](auto* r) { return speed_of(*r); });
    if (!speeds.empty()) {
      f.samples_per_s = median(speeds);
    }
  }
  void fail_control(const std::string& name, std::string text) {
    remarks_.push_back({RigWeight::failed, name, std::move(text)});
  }

  void judge_same() {
    const RigCell* cell = disk_.control("a/a");
    if (cell == nullptr) {
      return;
    }
    const auto ratio = ratio_of(*cell, disk_.base());
    add(*cell, ratio);
    if (ratio && ratio->p && *ratio->p < kControlError) {
      fail_control("a/a",
                   fmt::format("the baseline differs from itself: {} in {} rounds (t test, p "
                               "= {:.2g}): no difference of this size can be believed",
                               with_interval(*ratio), ratio->pairs, *ratio->p));
    } else if (ratio && ratio->interval && widest(*ratio) > kBlind) {
      remarks_.push_back({RigWeight::limit, "a/a",
                          fmt::format("equal cells were measured as {}: nothing below a factor of "
                                      "{:.1f} is told apart in so few, or so noisy, rounds",
                                      with_interval(*ratio), widest(*ratio))});
    }
  }

  // What is left of a gain without seeks is the cost of the host, and that shows as CPU time.
  void judge_ram() {
    const RigCell* random = disk_.control("ram", "random");
    const RigCell* lba = disk_.control("ram", "lba");
    if (random == nullptr || lba == nullptr) {
      return;
    }
    const auto ratio = ratio_of(*lba, *random);
    add(*lba, ratio);
    const double ours = cpu_per_sample(*lba);
    const double cpu = ours > 0 ? std::max(1.0, cpu_per_sample(*random) / ours) : 1.0;
    if (ratio && ratio->interval && ratio->interval->low > kRamMargin * cpu) {
      fail_control("ram",
                   fmt::format("LBA order gains {} over random order in memory, where nothing "
                               "seeks, and its CPU time explains {:.2f}: gains of an order "
                               "are not those of the disk alone",
                               with_interval(*ratio), cpu));
    }
  }

  // On a disk that seeks both directions gain, unless the addresses are not its own.
  void judge_reverse() {
    const RigCell* cell = disk_.control("reverse");
    if (cell == nullptr) {
      return;
    }
    const auto ratio = ratio_of(*cell, disk_.base());
    add(*cell, ratio);
    const CellRecord& base = disk_.base().cell->cell;
    const std::string window = setting_of(base, "sort-window");
    const bool seeks = disk_.rotates() && waits_for_the_disk(base) &&
                       setting_of(base, "order") == "random" && (window.empty() || window == "0");
    if (seeks && no_gain(ratio) && lba_gains_nothing()) {
      fail_control("reverse",
                   fmt::format("neither address order nor its reverse ({}) gains on a disk that "
                               "rotates: the addresses are not those of the medium (a mapper, thin "
                               "provisioning, a fragmented image below?)",
                               with_interval(*ratio)));
    }
  }
  static bool no_gain(const Maybe<PairedRatio>& r) {
    return r && r->interval && r->interval->high < kNoGain;
  }
  bool lba_gains_nothing() const {
    return std::ranges::all_of(disk_.cells, [&](const RigCell& c) {
      return !c.control.empty() || setting_of(c.cell->cell, "order") != "lba" ||
             no_gain(ratio_of(c, disk_.base()));
    });
  }

  void judge_no_op() {
    const RigCell* cell = disk_.control("no-op");
    if (cell == nullptr) {
      return;
    }
    add(*cell, std::nullopt);
    const Maybe<double> most = verdict_.controls.back().samples_per_s;
    std::size_t near = 0;
    double nearest = 0;
    for (const RigCell& c : disk_.cells) {
      std::vector<double> speeds;
      std::ranges::transform(c.runs, std::back_inserter(speeds),
                             [](auto* r) { return speed_of(*r); });
      const bool ours = c.control.empty() && !is_peer(c.cell->cell);
      const double share = ours && !speeds.empty() && most ? median(speeds) / *most : 0;
      near += share > kToolShare ? 1 : 0;
      nearest = std::max(nearest, share);
    }
    if (near > 0) {
      remarks_.push_back(
          {RigWeight::limit, "no-op",
           fmt::format("{} cell{} limited by the tool: it does {} samples/s without a "
                       "device, and the fastest reaches {:.0f} % of that",
                       near, near == 1 ? " is" : "s are", format_rounded(*most), nearest * 100)});
    }
  }

  const RigDisk& disk_;
  RigVerdict& verdict_;
  std::vector<RigRemark> remarks_;
};

std::string figure_text(const ControlFigure& c) {
  std::string text = c.name;
  if (c.name == "no-op") {
    text += c.samples_per_s ? " " + format_rounded(*c.samples_per_s) + " samples/s" : "";
  } else if (c.ratio) {
    text += " " + with_interval(*c.ratio);
  }
  return text;
}

std::string passed_line(const RigVerdict& v) {
  std::vector<std::string> texts;
  std::ranges::transform(v.controls, std::back_inserter(texts), figure_text);
  const bool judged = v.rounds >= kLeastRounds;
  const std::string rounds = fmt::format("{} round{}", v.rounds, v.rounds == 1 ? "" : "s");
  return fmt::format(
      "{}: {} ({})", judged ? "controls passed" : "controls not judged yet", joined(texts, ", "),
      judged ? rounds : rounds + ", " + std::to_string(kLeastRounds) + " are needed");
}

std::string heading(const RigRemark& r) {
  switch (r.weight) {
    case RigWeight::broken:
      return "BROKEN RIG: ";
    case RigWeight::failed:
      return "CONTROL " + r.about + " FAILED: ";
    case RigWeight::noise:
      return "NOISE: ";
    case RigWeight::limit:
      break;
  }
  return "limit: ";
}

bool leads(const RigVerdict& v) {
  return !v.remarks.empty() && v.remarks.front().weight != RigWeight::limit;
}

}  // namespace

std::string_view to_string(RigWeight weight) {
  switch (weight) {
    case RigWeight::broken:
      return "broken";
    case RigWeight::failed:
      return "failed";
    case RigWeight::noise:
      return "noise";
    case RigWeight::limit:
      break;
  }
  return "limit";
}

std::string control_of(const CellRecord& cell) { return setting_of(cell, "control"); }

bool has_controls(const SummaryInput& input) {
  return std::ranges::any_of(input.cells,
                             [](const StoredCell& c) { return !control_of(c.cell).empty(); });
}

SummaryInput without_controls(const SummaryInput& input) {
  SummaryInput out = input;
  std::set<std::int64_t> controls;
  std::erase_if(out.cells, [&](const StoredCell& c) {
    const bool is = !control_of(c.cell).empty();
    if (is) {
      controls.insert(c.id);
    }
    return is;
  });
  std::erase_if(out.runs, [&](const StoredRun& r) { return controls.contains(r.cell_id); });
  return out;
}

RigVerdict judge_rig(const SummaryInput& input) {
  RigVerdict verdict;
  for (const RigDisk& disk : rig_disks(input)) {
    if (disk.has_controls()) {
      verdict.judged = true;
      Judge(disk, verdict).run();
    }
  }
  std::ranges::stable_sort(verdict.remarks, {}, &RigRemark::weight);
  const auto least = std::ranges::min_element(verdict.controls, {}, &ControlFigure::runs);
  verdict.rounds = least == verdict.controls.end() ? 0 : least->runs;
  return verdict;
}

std::string rig_line(const RigVerdict& v) {
  if (!v.judged) {
    return "";
  }
  return leads(v) ? heading(v.remarks.front()) + v.remarks.front().text : passed_line(v);
}

std::string rig_notes(const RigVerdict& v) {
  std::string out;
  for (std::size_t i = leads(v) ? 1 : 0; i < v.remarks.size(); ++i) {
    out += heading(v.remarks[i]) + v.remarks[i].text + '\n';
  }
  if (leads(v)) {
    std::vector<std::string> texts;
    std::ranges::transform(v.controls, std::back_inserter(texts), figure_text);
    out += fmt::format("controls: {} ({} rounds)\n", joined(texts, ", "), v.rounds);
  }
  return out;
}

std::string rig_text(const RigVerdict& v) {
  return v.judged ? rig_line(v) + '\n' + rig_notes(v) : "";
}

Json rig_json(const RigVerdict& v) {
  if (!v.judged) {
    return nullptr;
  }
  Json findings = Json::array(), controls = Json::array();
  for (const RigRemark& r : v.remarks) {
    findings.push_back({{"weight", to_string(r.weight)}, {"about", r.about}, {"text", r.text}});
  }
  for (const ControlFigure& c : v.controls) {
    const bool interval = c.ratio && c.ratio->interval;
    controls.push_back({{"name", c.name},
                        {"disk", or_null(c.disk)},
                        {"runs", c.runs},
                        {"ratio", c.ratio ? Json(c.ratio->value) : Json(nullptr)},
                        {"low", interval ? Json(c.ratio->interval->low) : Json(nullptr)},
                        {"high", interval ? Json(c.ratio->interval->high) : Json(nullptr)},
                        {"samples_per_s", or_null(c.samples_per_s)}});
  }
  return {{"line", rig_line(v)},
          {"findings", std::move(findings)},
          {"controls", std::move(controls)},
          {"rounds", v.rounds}};
}

}  // namespace blksweep
