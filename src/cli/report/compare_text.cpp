// A comparison as a table and as JSON.
#include <fmt/format.h>

#include <algorithm>

#include "base/table.h"
#include "base/text.h"
#include "cli/report/compare.h"

namespace blksweep {
namespace {

constexpr std::size_t kLongestFact = 48;

// Of two long texts that begin alike: the word in which they differ. Commands would look equal.
std::size_t where_they_part(const std::string& a, const std::string& b) {
  if (std::max(a.size(), b.size()) <= kLongestFact) {
    return 0;
  }
  const auto at = static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
  const std::size_t space = at == 0 ? std::string::npos : a.rfind(' ', at - 1);
  return space == std::string::npos ? 0 : space + 1;
}

// In one line, whoever wrote it, and without half a character at its end.
std::string shortened(const std::string& raw, std::size_t from) {
  const std::string text = (from > 0 ? "... " : "") + printable(raw.substr(from));
  std::size_t end = kLongestFact - 3;
  while (text.size() > kLongestFact && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) {
    --end;
  }
  return text.empty() ? "-" : text.size() <= kLongestFact ? text : text.substr(0, end) + "...";
}

std::string ratio_text(const Maybe<UnpairedRatio>& r) {
  if (!r) {
    return "-";
  }
  return r->interval
             ? fmt::format("{:.3f} [{:.3f}, {:.3f}]", r->value, r->interval->low, r->interval->high)
             : fmt::format("{:.3f}", r->value);
}

std::string shown_text(const Maybe<UnpairedRatio>& r) {
  return !r || !r->p ? "-" : r->shown ? "differs" : "not shown";
}

std::string speed_text(const Maybe<double>& speed) { return speed ? format_rounded(*speed) : "-"; }

std::string facts_text(const Comparison& c) {
  Table table;
  table.column("differs", Table::Align::left);
  table.column("A", Table::Align::left);
  table.column("B", Table::Align::left);
  std::size_t same = 0;
  for (const ComparedFact& f : c.facts) {
    if (f.differs()) {
      const std::size_t from = where_they_part(f.a, f.b);
      table.row({f.name, shortened(f.a, from), shortened(f.b, from)});
    } else {
      ++same;
    }
  }
  const std::string rest = fmt::format("{} facts are the same (--json lists them)\n", same);
  return same == c.facts.size() ? rest : table.text() + rest;
}

std::string cells_text(const Comparison& c) {
  Table table;
  table.column("cell", Table::Align::left);
  for (const char* title :
       {"n", "A samples/s", "n", "B samples/s", "B / A [95 %]", "", "of the baseline", ""}) {
    table.column(title);
  }
  for (const ComparedCell& cell : c.cells) {
    table.row({cell.label, std::to_string(cell.runs_a), speed_text(cell.median_a),
               std::to_string(cell.runs_b), speed_text(cell.median_b), ratio_text(cell.ratio),
               shown_text(cell.ratio), cell.baseline ? "baseline" : ratio_text(cell.relative),
               cell.baseline ? "" : shown_text(cell.relative)});
  }
  return table.text();
}

std::string only_text(const char* side, const std::vector<std::string>& labels) {
  return labels.empty() ? "" : fmt::format("only in {}: {}\n", side, joined(labels, "; "));
}

std::string notes(const Comparison& c) {
  std::string text =
      "B / A: Welch's t on logarithms. Runs of two sessions are no pairs: what the sessions differ "
      "by as\nwholes (drift, another day) is in the ratio and not in its interval.\n"
      "of the baseline: the same of each round's ratio to the baseline, which such a difference "
      "does "
      "not reach.\n";
  const auto few = [](const ComparedCell& cell) {
    return std::min(cell.runs_a, cell.runs_b) < kLeastRounds;
  };
  if (std::ranges::any_of(c.cells, few)) {
    text += fmt::format("no interval from fewer than {} runs on either side\n", kLeastRounds);
  }
  if (c.error_rate != kErrorRate) {
    text += fmt::format(
        "rounds were added until intervals were narrow (--repeats auto): intervals and words allow "
        "for\nthat, t at {:.0f} % covers 95 % then\n",
        100 * (1 - c.error_rate));
  }
  std::size_t left_out = 0, in_both = 0;
  for (const ComparedCell& cell : c.cells) {
    left_out += cell.left_out_a + cell.left_out_b;
    in_both += cell.in_both;
  }
  if (in_both > 0) {
    text += fmt::format(
        "{} runs are in both databases: of a difference they say nothing, and the intervals take "
        "them\nfor runs of two sessions\n",
        in_both);
  }
  return left_out == 0 ? text : text + fmt::format("{} incomplete runs are left out\n", left_out);
}

Json ratio_json(const Maybe<UnpairedRatio>& r) {
  if (!r) {
    return nullptr;
  }
  return {{"value", r->value},
          {"low", r->interval ? Json(r->interval->low) : Json(nullptr)},
          {"high", r->interval ? Json(r->interval->high) : Json(nullptr)},
          {"n_a", r->to},
          {"n_b", r->of},
          {"p", or_null(r->p)},
          {"shown", r->p ? Json(r->shown) : Json(nullptr)}};
}

Json side_json(const CellRecord& cell, std::size_t runs, std::size_t left_out,
               const Maybe<double>& speed) {
  return {{"cell", cell_json(cell)},
          {"runs", runs},
          {"incomplete", left_out},
          {"samples_per_s", or_null(speed)}};
}

}  // namespace

std::string comparison_text(const Comparison& c) {
  std::string text = fmt::format("A: {}\nB: {}\n\n", c.name_a, c.name_b) + facts_text(c) + "\n";
  text += c.cells.empty() ? "no cell is in both\n" : cells_text(c);
  text += only_text("A", c.only_a) + only_text("B", c.only_b);
  return c.cells.empty() ? text : text + "\n" + notes(c);
}

Json comparison_json(const Comparison& c) {
  Json out{{"a", c.name_a},
           {"b", c.name_b},
           {"facts", Json::array()},
           {"cells", Json::array()},
           {"only_a", c.only_a},
           {"only_b", c.only_b},
           {"error_rate", c.error_rate}};
  for (const ComparedFact& f : c.facts) {
    out["facts"].push_back({{"name", f.name}, {"a", f.a}, {"b", f.b}, {"differs", f.differs()}});
  }
  for (const ComparedCell& cell : c.cells) {
    out["cells"].push_back({{"label", cell.label},
                            {"baseline", cell.baseline},
                            {"a", side_json(cell.a, cell.runs_a, cell.left_out_a, cell.median_a)},
                            {"b", side_json(cell.b, cell.runs_b, cell.left_out_b, cell.median_b)},
                            {"in_both", cell.in_both},
                            {"ratio", ratio_json(cell.ratio)},
                            {"relative_ratio", ratio_json(cell.relative)}});
  }
  return out;
}

}  // namespace blksweep
