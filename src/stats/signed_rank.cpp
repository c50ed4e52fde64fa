#include "stats/signed_rank.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

namespace blksweep {
namespace {

// How many Walsh averages may be left out at either end, plus one: the greatest c for which the sum
// of positive ranks is below c with probability tails / 2 at most; 1 at least.
std::size_t first_kept(std::size_t n, double tails) {
  std::vector<double> ways(n * (n + 1) / 2 + 1);  // of n signs, by sum of positive ranks
  ways[0] = 1;
  for (std::size_t rank = 1; rank <= n; ++rank) {
    for (std::size_t sum = ways.size() - 1; sum >= rank; --sum) {
      ways[sum] += ways[sum - rank];
    }
  }
  const double most = tails / 2 * std::exp2(static_cast<double>(n));
  std::size_t c = 0;
  for (double below = ways[0]; below <= most; below += ways[c]) {
    ++c;
  }
  return std::max<std::size_t>(c, 1);
}

}  // namespace

Interval signed_rank_interval(std::span<const double> values, double tails) {
  assert(!values.empty());
  std::vector<double> means;
  means.reserve(values.size() * (values.size() + 1) / 2);
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = i; j < values.size(); ++j) {
      means.push_back((values[i] + values[j]) / 2);
    }
  }
  const auto c = static_cast<std::ptrdiff_t>(first_kept(values.size(), tails));
  const auto low = means.begin() + c - 1, high = means.end() - c;
  std::ranges::nth_element(means, low);
  const double least = *low;
  std::ranges::nth_element(means, high);
  return {least, *high};
}

}  // namespace blksweep
