// Histograms as bars of text.
//
// Threads: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "probe/block_probe.h"

namespace blksweep {

// `filled` of `whole`, at least one mark where it is not 0: "####......".
std::string bar(double filled, double whole, std::size_t width);

struct HistogramView {
  std::string title;
  const ProbeBuckets& buckets;
  // Where rows begin, ascending; a bucket belongs to the last row that begins at or below it.
  std::vector<std::uint64_t> bounds;
  std::function<std::string(std::uint64_t)> label;
};

std::vector<std::uint64_t> decades_of(std::uint64_t end);  // 0, 1, 2, 5, 10, 20, 50 ...
std::vector<std::uint64_t> octaves_of(std::uint64_t first, std::uint64_t end);

// A heading and `rows` lines of at most `width` characters. Too many rows for it: those at the ends
// with the fewest counts are put together with their neighbours.
std::vector<std::string> histogram_text(const HistogramView& view, std::size_t rows,
                                        std::size_t width);

}  // namespace blksweep
