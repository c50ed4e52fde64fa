#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "dataset/make.h"

namespace blksweep {
namespace {

constexpr std::uint64_t kContentStream = 1000;  // plus the file's number
constexpr double kMaxSigma = 4;

Result<Bytes> parse_size(std::string_view text) {
  BLKSWEEP_TRY(const Bytes size, parse_bytes(text));
  if (size.n > (std::uint64_t{1} << 40)) {
    return usage_error(fmt::format("'{}' is more than 1 TiB", text));
  }
  return size;
}

Result<SizeSpec> parse_uniform(std::string_view text) {
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) {
    return usage_error(fmt::format("'uniform:{}' is not a range, such as uniform:1KiB-64KiB", text));
  }
  SizeSpec s;
  s.kind = SizeSpec::Kind::uniform;
  BLKSWEEP_TRY(s.low, parse_size(text.substr(0, dash)));
  BLKSWEEP_TRY(s.high, parse_size(text.substr(dash + 1)));
  if (s.high < s.low) {
    return usage_error(fmt::format("'uniform:{}': the range ends before it begins", text));
  }
  return s;
}

Result<double> parse_sigma(std::string_view text) {
  const std::string copy(text);
  char* end = nullptr;
  const double sigma = std::strtod(copy.c_str(), &end);
  if (copy.empty() || *end != '\0' || !(sigma >= 0 && sigma <= kMaxSigma)) {
    return usage_error(fmt::format("'{}' is not a sigma between 0 and 4, such as 0.5", text));
  }
  return sigma;
}

Result<SizeSpec> parse_lognormal(std::string_view text) {
  SizeSpec s;
  const std::size_t colon = text.find(':');
  BLKSWEEP_TRY(s.low, parse_size(text.substr(0, colon)));
  if (colon != std::string_view::npos) {
    BLKSWEEP_TRY(s.sigma, parse_sigma(text.substr(colon + 1)));
  }
  if (s.low.n == 0) {
    return usage_error(fmt::format("'lognormal:{}': the mean must be above 0", text));
  }
  return s;
}

}  // namespace

Result<SizeSpec> parse_size_spec(std::string_view text) {
  constexpr std::string_view kUniform = "uniform:";
  constexpr std::string_view kLognormal = "lognormal:";
  if (text.starts_with(kUniform)) {
    return parse_uniform(text.substr(kUniform.size()));
  }
  if (text.starts_with(kLognormal)) {
    return parse_lognormal(text.substr(kLognormal.size()));
  }
  SizeSpec s;
  s.kind = SizeSpec::Kind::fixed;
  BLKSWEEP_TRY(s.low, parse_size(text));
  return s;
}

std::string to_string(const SizeSpec& s) {
  switch (s.kind) {
    case SizeSpec::Kind::fixed:
      return fmt::format("{}B", s.low.n);
    case SizeSpec::Kind::uniform:
      return fmt::format("uniform:{}B-{}B", s.low.n, s.high.n);
    case SizeSpec::Kind::lognormal:
      break;
  }
  return fmt::format("lognormal:{}B:{}", s.low.n, s.sigma);
}

std::uint64_t SizeSpec::draw(Rng& rng) const {
  switch (kind) {
    case Kind::fixed:
      return low.n;
    case Kind::uniform:
      return low.n + rng.below(high.n - low.n + 1);
    case Kind::lognormal:
      break;
  }
  // The mean of exp(N(mu, sigma)) is exp(mu + sigma^2 / 2).
  const auto mean = static_cast<double>(low.n);
  const double size = mean * std::exp(sigma * rng.normal() - sigma * sigma / 2);
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::min(size, 1000 * mean)));
}

Content::Content(std::uint64_t seed, std::uint64_t number) : rng_(seed, kContentStream + number) {}

void Content::next(std::span<std::byte> out) {
  std::byte* at = out.data();
  for (std::size_t left = out.size(); left > 0;) {
    const std::uint64_t word = rng_.next();
    const std::size_t n = std::min(left, sizeof word);
    std::memcpy(at, &word, n);
    at += n;
    left -= n;
  }
}

std::string sample_path(std::uint64_t number, std::uint32_t classes) {
  return fmt::format("class_{:04}/{:06}.bin", number % classes, number / classes);
}

}  // namespace blksweep
