#include "store/ceilings.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "stats/quantile.h"

namespace blksweep {
namespace {

constexpr double kMiB = 1048576;

CeilingFigure figure_of(const std::vector<const CeilingRecord*>& rows) {
  std::vector<double> bytes, reads;
  CeilingFigure f;
  for (const CeilingRecord* c : rows) {
    bytes.push_back(c->bytes_per_s);
    reads.push_back(c->reads_per_s);
    f.request_bytes = std::max(f.request_bytes, c->request_bytes);
    f.depth = std::max(f.depth, c->depth);
  }
  f.kind = rows.front()->kind;
  f.rounds = rows.size();
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
    std::vector<const CeilingRecord*> rows;
    for (const CeilingRecord& c : ceilings) {
      if (c.kind == kind) {
        rows.push_back(&c);
      }
    }
    if (!rows.empty()) {
      out.push_back(figure_of(rows));
    }
  }
  return out;
}

Maybe<double> sequential_ceiling(const std::vector<CeilingRecord>& ceilings) {
  const std::vector<CeilingFigure> figures = ceiling_figures(ceilings);
  return !figures.empty() && figures.front().kind == "sequential" && figures.front().median > 0
             ? Maybe<double>(figures.front().median)
             : std::nullopt;
}

std::string ceilings_text(const std::map<std::string, std::vector<CeilingRecord>>& by_disk) {
  std::string out;
  for (const auto& [disk, ceilings] : by_disk) {
    for (const CeilingFigure& f : ceiling_figures(ceilings)) {
      out += fmt::format("ceiling{}{}, {} reads of {} at depth {}: {:.1f} MiB/s",
                         disk.empty() ? "" : " of ", disk, f.kind, format_bytes({f.request_bytes}),
                         f.depth, f.median / kMiB);
      out += f.rounds == 1 ? " (one round)\n"
                           : fmt::format(" (median of {} rounds, {:.1f}..{:.1f})\n", f.rounds,
                                         f.least / kMiB, f.greatest / kMiB);
    }
  }
  return out;
}

}  // namespace blksweep
