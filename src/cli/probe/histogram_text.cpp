#include "cli/probe/histogram_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units.h"

namespace blksweep {
namespace {

constexpr std::size_t kLabel = 8, kCount = 10;

struct Bar {
  std::uint64_t from = 0, count = 0;
};

// From the first row with a count to the last one.
std::vector<Bar> rows_of(const HistogramView& view) {
  std::vector<Bar> rows;
  for (const std::uint64_t bound : view.bounds) {
    rows.push_back({.from = bound, .count = 0});
  }
  for (const auto& [lower, count] : view.buckets) {
    const auto after = std::ranges::upper_bound(view.bounds, lower);
    rows[static_cast<std::size_t>(std::max<std::ptrdiff_t>(after - view.bounds.begin(), 1) - 1)]
        .count += count;
  }
  const auto used = [](const Bar& row) { return row.count > 0; };
  const auto first = std::ranges::find_if(rows, used);
  const auto last = std::find_if(rows.rbegin(), rows.rend(), used).base();
  return first == rows.end() ? std::vector<Bar>() : std::vector<Bar>(first, last);
}

void fold_into(std::vector<Bar>& rows, std::size_t most) {
  while (rows.size() > std::max<std::size_t>(most, 1)) {
    const bool front = rows.front().count <= rows.back().count;
    Bar& kept = front ? rows[1] : rows[rows.size() - 2];
    kept.count += front ? rows.front().count : rows.back().count;
    kept.from = front ? rows.front().from : kept.from;
    rows.erase(front ? rows.begin() : rows.end() - 1);
  }
}

}  // namespace

std::string bar(double filled, double whole, std::size_t width) {
  const double share = whole > 0 ? std::clamp(filled / whole, 0.0, 1.0) : 0;
  auto marks = static_cast<std::size_t>(std::lround(share * static_cast<double>(width)));
  marks = filled > 0 ? std::max<std::size_t>(marks, 1) : 0;
  return std::string(std::min(marks, width), '#') +
         std::string(width - std::min(marks, width), '.');
}

std::vector<std::uint64_t> decades_of(std::uint64_t end) {
  std::vector<std::uint64_t> bounds = {0};
  for (std::uint64_t ten = 1; ten < end; ten *= 10) {
    for (const std::uint64_t step : {1U, 2U, 5U}) {
      bounds.push_back(ten * step);
    }
  }
  return bounds;
}

std::vector<std::uint64_t> octaves_of(std::uint64_t first, std::uint64_t end) {
  std::vector<std::uint64_t> bounds = {0};
  for (std::uint64_t bound = first; bound < end; bound *= 2) {
    bounds.push_back(bound);
  }
  return bounds;
}

std::vector<std::string> histogram_text(const HistogramView& view, std::size_t rows,
                                        std::size_t width) {
  std::vector<Bar> shown = rows_of(view);
  fold_into(shown, rows);
  std::uint64_t most = 0;
  for (const Bar& row : shown) {
    most = std::max(most, row.count);
  }
  const std::size_t bars = width > kLabel + kCount + 4 ? width - kLabel - kCount - 2 : 4;
  std::vector<std::string> lines = {fmt::format("{:<{}}", view.title, width)};
  for (std::size_t i = 0; i < rows; ++i) {
    lines.push_back(
        i < shown.size()
            ? fmt::format("{:>{}} {} {:>{}}", view.label(shown[i].from), kLabel,
                          bar(static_cast<double>(shown[i].count), static_cast<double>(most), bars),
                          format_count(shown[i].count), kCount)
            : std::string(width, ' '));
  }
  return lines;
}

}  // namespace blksweep
