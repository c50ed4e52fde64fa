#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "model/model_spec.h"

namespace blksweep {
namespace {

// Between points the curve is linear in the root of the fraction; 64 pieces are off by < 1e-4.
constexpr int kPieces = 64;

// The integral from 0 to u of the density of root distances: a distance x of uniform pairs has the
// density 2 (1 - x), so u = sqrt(x) has 4 u - 4 u^3.
double share_below(double u) { return u * u * (2 - u * u); }
double moment_below(double u) { return u * u * u * (4.0 / 3.0 - 0.8 * u * u); }

// What the line through (u0, y0) with this slope adds to the mean between u0 and u1.
struct Line {
  double u0, y0, slope;
};
double mean_part(const Line& line, double u1) {
  const double share = share_below(u1) - share_below(line.u0);
  const double moment = moment_below(u1) - moment_below(line.u0);
  return (line.y0 - line.slope * line.u0) * share + line.slope * moment;
}

}  // namespace

Result<SeekCurve> seek_curve(Nanos single_track, Nanos average, Nanos full_stroke) {
  const auto a = static_cast<double>(single_track.count());
  const double mean = static_cast<double>(average.count()) - a;
  const double full = static_cast<double>(full_stroke.count()) - a;
  // a + b sqrt(x) + c x: b + c = full and 8/15 b + 1/3 c = mean.
  const double b = 5 * (mean - full / 3);
  const double c = full - b;
  if (a < 0 || b < 0 || b + 2 * c < 0) {
    return usage_error(fmt::format(
        "no rising curve a + b sqrt(x) + c x has a single track of {}, an average of {} and a full "
        "stroke of {}: the average above the single track must be 1/3 to 3/5 of the full stroke's",
        format_duration(single_track), format_duration(average), format_duration(full_stroke)));
  }
  SeekCurve curve;
  for (int i = 0; i <= kPieces; ++i) {
    const double u = static_cast<double>(i) / kPieces;
    // Whole nanoseconds, so that a written curve reads back as itself.
    curve.push_back({u * u, std::round(a + b * u + c * u * u)});
  }
  return curve;
}

double seek_ns(const SeekCurve& curve, double fraction) {
  const auto above = std::ranges::upper_bound(curve, fraction, {}, &SeekPoint::fraction);
  if (above == curve.begin()) {
    return curve.front().ns;
  }
  if (above == curve.end()) {
    return curve.back().ns;
  }
  const SeekPoint& low = *(above - 1);
  const double root = std::sqrt(low.fraction);
  const double share = (std::sqrt(fraction) - root) / (std::sqrt(above->fraction) - root);
  return low.ns + (above->ns - low.ns) * share;
}

double mean_seek_ns(const SeekCurve& curve) {
  double mean = mean_part({0, curve.front().ns, 0}, std::sqrt(std::min(1.0, curve[0].fraction)));
  for (std::size_t i = 0; i + 1 < curve.size(); ++i) {
    const double u0 = std::min(1.0, std::sqrt(curve[i].fraction));
    const double u1 = std::sqrt(curve[i + 1].fraction);
    if (u0 < 1) {
      mean += mean_part({u0, curve[i].ns, (curve[i + 1].ns - curve[i].ns) / (u1 - u0)},
                        std::min(1.0, u1));
    }
  }
  return mean + mean_part({std::min(1.0, std::sqrt(curve.back().fraction)), curve.back().ns, 0}, 1);
}

}  // namespace blksweep
