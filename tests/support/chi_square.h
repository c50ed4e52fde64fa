// Chi-square goodness of fit: does a count differ from what chance gives?
//
// Threads: pure functions.
// Source:  Abramowitz and Stegun, "Handbook of Mathematical Functions", 6.5.29 and 6.5.31
//          (incomplete gamma function by series and by continued fraction).
#pragma once

#include <cstdint>
#include <span>

namespace blksweep::support {

// Sum of (count - expected)^2 / expected; every cell expects the same, expected > 0.
double chi_square(std::span<const std::uint64_t> counts, double expected);

// Probability of a statistic of at least x with `freedom` > 0 degrees of freedom.
double chi_square_tail(double x, double freedom);

}  // namespace blksweep::support
