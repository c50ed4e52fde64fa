// Student's t distribution: how often chance alone gives a mean this far from zero.
//
// Freedom: degrees of freedom > 0, one fewer than the values that the mean is of.
// Threads: pure functions.
// Source:  Abramowitz and Stegun, "Handbook of Mathematical Functions", 26.7.1 with 26.5.8 (the
//          incomplete beta function as a continued fraction).
#pragma once

namespace blksweep {

// Probability of a t of at least |t|, on either side.
double t_both_tails(double t, double freedom);

// The t > 0 that chance exceeds on either side with probability `tails`, 0 < tails < 1.
double t_quantile(double tails, double freedom);

}  // namespace blksweep
