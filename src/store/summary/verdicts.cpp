#include "store/summary/verdicts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "base/text.h"
#include "store/summary/stopping.h"

namespace blksweep {
namespace {

struct Comparison {
  const PairedRatio* ratio;
  PairedVerdict* verdict;
};

constexpr std::size_t kMostNamed = 4;  // cells in a line; of more only those that differ

// Cells of which no difference is shown, in a few words.
struct Unshown {
  std::size_t cells = 0, equal = 0;
  double needed = 0;

  void add(const PairedVerdict& v) {
    ++cells;
    equal += v.equal ? 1 : 0;
    needed = std::max(needed, v.detectable.value_or(0));
  }
  std::string text() const {
    return fmt::format("{} cell{} not shown (needs up to {}{})", cells, cells == 1 ? "" : "s",
                       percent_text(needed), equal > 0 ? fmt::format("; {} equal", equal) : "");
  }
};

std::string disk_of(const CellSummary& c) { return setting_of(c.cell, "disk"); }

void judge(const std::map<std::string, std::vector<Comparison>>& families,
           const SummaryInput& input) {
  for (const auto& [disk, family] : families) {
    std::vector<PairedRatio> ratios;
    std::ranges::transform(family, std::back_inserter(ratios), [](auto& c) { return *c.ratio; });
    const std::vector<PairedVerdict> verdicts =
        find_verdicts(ratios, {.error_rate = error_rate_of(input, disk), .margin = input.margin});
    for (std::size_t i = 0; i < family.size(); ++i) {
      *family[i].verdict = verdicts[i];
    }
  }
}

}  // namespace

double error_rate_of(const SummaryInput& input, const std::string& disk) {
  return input.stopping.contains(disk) ? kStoppedErrorRate : kErrorRate;
}

void add_verdicts(std::vector<CellSummary>& cells, const SummaryInput& input) {
  std::map<std::string, std::vector<Comparison>> baselines, twins;
  for (CellSummary& c : cells) {
    if (c.ratio) {
      baselines[disk_of(c)].push_back({&*c.ratio, &c.verdict});
    }
    if (c.twins.ratio) {
      twins[disk_of(c)].push_back({&*c.twins.ratio, &c.twins.verdict});
    }
  }
  judge(baselines, input);
  judge(twins, input);
}

std::string digits(double x) {
  const double size = std::abs(x);
  return fmt::format("{:.{}f}", x, size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2);
}

std::string range_text(double low, double high) {
  return fmt::format("{}..{}", digits(low), digits(high));
}

std::string ratio_text(const PairedRatio& ratio) {
  const std::string value = digits(ratio.value);
  return ratio.interval
             ? fmt::format("{} [{}]", value, range_text(ratio.interval->low, ratio.interval->high))
             : value;
}

std::string_view finding_word(Finding finding) {
  switch (finding) {
    case Finding::faster:
      return "faster";
    case Finding::slower:
      return "slower";
    case Finding::not_shown:
      return "not shown";
    case Finding::none:
      break;
  }
  return "";
}

std::string verdict_text(const PairedVerdict& verdict) {
  const std::string word(finding_word(verdict.finding));
  if (verdict.equal) {
    return word + (verdict.differs() ? ", within the margin" : "; equal");
  }
  return verdict.detectable ? fmt::format("{} (needs {})", word, percent_text(*verdict.detectable))
                            : word;
}

std::string among_text(std::size_t words) {
  return words == 1 ? "in it" : fmt::format("among {} (Holm)", words);
}

std::string fio_verdicts(const std::vector<CellSummary>& cells) {
  std::vector<std::string> said;
  std::map<std::string, std::size_t> families;
  std::size_t most = 0;
  Unshown others;
  for (const CellSummary& c : cells) {
    const PairedVerdict& v = c.twins.verdict;
    if (v.finding == Finding::none) {
      continue;
    }
    most = std::max(most, ++families[disk_of(c)]);
    if (v.differs() || cells.size() <= kMostNamed) {
      said.push_back(fmt::format("{} {}", c.label, verdict_text(v)));
    } else {
      others.add(v);
    }
  }
  if (others.cells > 0) {
    said.push_back(others.text());
  }
  return said.empty() ? ""
                      : fmt::format("ours / fio: {}; t test, 5 % for one wrong word {}\n",
                                    joined(said, ", "), among_text(most));
}

}  // namespace blksweep
