#include "stage/consumer.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>

#include "base/rng.h"

namespace blksweep {
namespace {

constexpr std::uint64_t kComputeStream = 0xC0;
constexpr std::string_view kLognormal = "lognormal:";
constexpr double kDefaultSigma = 0.25;
constexpr std::chrono::hours kLongest{24};  // of one batch; far from where adding to a clock wraps

Result<double> parse_sigma(std::string_view text) {
  double sigma = 0;
  const auto [rest, ec] = std::from_chars(text.data(), text.data() + text.size(), sigma);
  if (ec != std::errc{} || rest != text.data() + text.size() || !(sigma > 0 && sigma < 4)) {
    return usage_error(fmt::format("'{}' is not a sigma between 0 and 4", text));
  }
  return sigma;
}

}  // namespace

Nanos ComputeTime::of_batch(std::uint32_t batch, std::uint64_t seed) const {
  if (sigma == 0) {
    return mean;
  }
  Rng rng(seed, kComputeStream + (std::uint64_t{batch} << 8));
  const double factor = std::exp(sigma * rng.normal() - sigma * sigma / 2);
  constexpr auto kMost = static_cast<double>(Nanos(kLongest).count());
  return Nanos{std::llround(std::min(static_cast<double>(mean.count()) * factor, kMost))};
}

Result<ComputeTime> parse_compute_time(std::string_view text) {
  ComputeTime t;
  if (text.starts_with(kLognormal)) {
    text.remove_prefix(kLognormal.size());
    t.sigma = kDefaultSigma;
    if (const auto colon = text.find(':'); colon != std::string_view::npos) {
      BLKSWEEP_TRY(t.sigma, parse_sigma(text.substr(colon + 1)));
      text = text.substr(0, colon);
    }
  }
  BLKSWEEP_TRY(t.mean, parse_duration(text));
  if (t.mean > kLongest) {
    return usage_error(fmt::format("'{}' is more than a day for one batch", text));
  }
  return t;
}

void emulate_compute(std::int64_t begin_ns, Nanos duration) {
  ::prctl(PR_SET_TIMERSLACK, 1UL);  // of this thread only; the default adds 50 us
  const std::int64_t end = begin_ns + duration.count();
  const timespec until{end / 1'000'000'000, end % 1'000'000'000};
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

}  // namespace blksweep
