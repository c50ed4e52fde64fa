#include "store/summary/ceilings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/units.h"
#include "stats/quantile.h"

namespace blksweep {
namespace {

CeilingFigure figure_of(const std::vector<const CeilingRecord*>& rows) {
  std::vector<double> bytes, reads;
  CeilingFigure f;
  for (const CeilingRecord* c : rows) {
    bytes.push_back(c->bytes_per_s);
    reads.push_back(c->reads_per_s);
    f.request_bytes = std::max(f.request_bytes, c->request_bytes);
  }
  const auto same = [&](const CeilingRecord* c) {
    return c->samples_per_byte == rows.front()->samples_per_byte;
  };
  if (std::ranges::all_of(rows, same)) {
    f.samples_per_byte = rows.front()->samples_per_byte;
  }
  f.kind = rows.front()->kind;
  f.depth = rows.front()->depth;
  std::set<std::uint32_t> rounds;  // one that was begun twice is one
  for (const CeilingRecord* c : rows) {
    rounds.insert(c->round);
  }
  f.rounds = rounds.size();
  f.least = std::ranges::min(bytes);
  f.greatest = std::ranges::max(bytes);
  f.median = median(bytes);
  f.reads_per_s = median(reads);
  return f;
}

}  // namespace

std::vector<CeilingFigure> ceiling_figures(const std::vector<CeilingRecord>& ceilings) {
  std::vector<CeilingFigure> out;
  for (const char* kind : {"sequential", "random"}) {
    std::map<std::uint32_t, std::vector<const CeilingRecord*>> by_depth;
    for (const CeilingRecord& c : ceilings) {
      if (c.kind == kind) {
        by_depth[c.depth].push_back(&c);
      }
    }
    std::vector<CeilingFigure> figures;
    for (const auto& [depth, rows] : by_depth) {
      figures.push_back(figure_of(rows));
    }
    if (!figures.empty()) {
      out.push_back(*std::ranges::max_element(figures, {}, &CeilingFigure::median));
    }
  }
  return out;
}

Maybe<double> sequential_ceiling(const std::vector<CeilingRecord>& ceilings) {
  const std::vector<CeilingFigure> figures = ceiling_figures(ceilings);
  const bool known = !figures.empty() && figures.front().kind == "sequential" &&
                     figures.front().median > 0 && figures.front().samples_per_byte;
  return known ? Maybe<double>(figures.front().median * *figures.front().samples_per_byte)
               : std::nullopt;
}

namespace {

constexpr double kOneToOne = 0.01;

// Said where a share of the ceiling is not a share of the figure that stands before it.
std::string worth(const CeilingFigure& f) {
  if (!f.samples_per_byte) {
    return "; part of the data has no address, so no share of it is shown";
  }
  return std::abs(*f.samples_per_byte - 1) <= kOneToOne
             ? ""
             : fmt::format("; {:.1f} MiB/s of samples, for a byte read stands for {:.2f}",
                           f.median * *f.samples_per_byte / double{kMiB}, *f.samples_per_byte);
}

}  // namespace

std::string ceilings_text(const std::map<std::string, std::vector<CeilingRecord>>& by_disk) {
  std::string out;
  for (const auto& [disk, ceilings] : by_disk) {
    for (const CeilingFigure& f : ceiling_figures(ceilings)) {
      out += fmt::format("ceiling{}{}, {} reads of {} at depth {}: {:.1f} MiB/s",
                         disk.empty() ? "" : " of ", disk, f.kind, format_bytes({f.request_bytes}),
                         f.depth, f.median / double{kMiB});
      out += f.rounds == 1 ? " (one round)"
                           : fmt::format(" (median of {} rounds, {:.1f}..{:.1f})", f.rounds,
                                         f.least / double{kMiB}, f.greatest / double{kMiB});
      out += (f.kind == "sequential" ? worth(f) : "") + "\n";
    }
  }
  return out;
}

}  // namespace blksweep
