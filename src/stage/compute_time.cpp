#include "stage/compute_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <limits>
#include <sstream>

#include "base/rng.h"
#include "os/file/open_regular.h"

namespace blksweep {
namespace {

constexpr std::uint64_t kComputeStream = 0xC0;
constexpr std::string_view kLognormal = "lognormal:";
constexpr std::string_view kTable = "table:";
constexpr std::string_view kFirst = "first:";
constexpr std::string_view kBlank = " \t\r";
constexpr std::size_t kLongestTable = std::size_t{64} << 10;
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

Result<Nanos> parse_time(std::string_view text) {
  BLKSWEEP_TRY(const Nanos time, parse_duration(text));
  if (time > kLongest) {
    return usage_error(fmt::format("'{}' is more than a day for one batch", text));
  }
  return time;
}

std::string_view trim(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(kBlank), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(kBlank) + 1);
}

Result<> add_point(ComputeTime& t, std::string_view point, char within) {
  const std::size_t split = point.find(within);
  if (split == std::string_view::npos) {
    return usage_error(fmt::format("'{}' is not a batch size and its time", point));
  }
  const std::string_view samples = point.substr(0, split);
  BLKSWEEP_TRY(const std::uint64_t n, parse_count(trim(samples)));
  BLKSWEEP_TRY(const Nanos takes, parse_time(trim(point.substr(split + 1))));
  const std::uint64_t least = t.table.empty() ? 1 : std::uint64_t{t.table.back().samples} + 1;
  if (n < least || n > std::numeric_limits<std::uint32_t>::max()) {
    return usage_error(fmt::format("'{}': batch sizes of a table ascend, from 1", samples));
  }
  t.table.push_back({static_cast<std::uint32_t>(n), takes});
  t.mean = std::max(t.mean, takes);
  return {};
}

Result<ComputeTime> parse_points(std::string_view text) {
  ComputeTime t;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('/'), text.size());
    BLKSWEEP_CHECK(add_point(t, trim(text.substr(0, end)), ':'));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return t;
}

// A spec can name any file: what stands in one that is no table is nobody's to read here.
Result<ComputeTime> read_table(const std::string& path) {
  const Result<std::string> text = read_regular(path, kLongestTable);
  if (!text) {
    return usage_error(text.error().message());
  }
  ComputeTime t;
  std::istringstream lines(*text);
  std::string line;
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    const std::string_view point = trim(std::string_view(line).substr(0, line.find('#')));
    if (!point.empty() && !add_point(t, point, ' ')) {
      return usage_error(fmt::format(
          "'{}', line {}: not a batch size and its time (\"64 8ms\"), in ascending order", path,
          number));
    }
  }
  if (t.table.empty()) {
    return usage_error(
        fmt::format("'{}' has no line such as \"64 8ms\" (batch size and time)", path));
  }
  return t;
}

Nanos of_table(const std::vector<ComputePoint>& table, std::uint32_t samples) {
  const auto above =
      std::ranges::lower_bound(table, samples, {}, [](const ComputePoint& p) { return p.samples; });
  if (above == table.begin()) {
    return above->time;
  }
  const ComputePoint& low = *(above - 1);
  if (above == table.end()) {
    return low.time;
  }
  const double share = static_cast<double>(samples - low.samples) /
                       static_cast<double>(above->samples - low.samples);
  const auto more = static_cast<double>((above->time - low.time).count());
  return low.time + Nanos{std::llround(share * more)};
}

// What all batches have, or all but the first.
Result<ComputeTime> parse_usual(std::string_view text) {
  if (text.starts_with(kTable)) {
    return read_table(std::string(text.substr(kTable.size())));
  }
  ComputeTime t;
  if (text.starts_with(kLognormal)) {
    text.remove_prefix(kLognormal.size());
    t.sigma = kDefaultSigma;
    if (const auto colon = text.find(':'); colon != std::string_view::npos) {
      BLKSWEEP_TRY(t.sigma, parse_sigma(text.substr(colon + 1)));
      text = text.substr(0, colon);
    }
  } else if (text.find(':') != std::string_view::npos) {
    return parse_points(text);
  }
  BLKSWEEP_TRY(t.mean, parse_time(text));
  return t;
}

std::string usual_text(const ComputeTime& t) {
  if (!t.table.empty()) {
    std::string out;
    for (const ComputePoint& p : t.table) {
      out += fmt::format("{}{}:{}ns", out.empty() ? "" : "/", p.samples, p.time.count());
    }
    return out;
  }
  return t.sigma > 0 ? fmt::format("lognormal:{}ns:{}", t.mean.count(), t.sigma)
                     : fmt::format("{}ns", t.mean.count());
}

}  // namespace

Nanos ComputeTime::of_batch(std::uint32_t batch, std::uint32_t samples, std::uint64_t seed) const {
  if (first && batch == 0) {
    return *first;
  }
  if (!table.empty()) {
    return of_table(table, samples);
  }
  if (sigma == 0) {
    return mean;
  }
  Rng rng(seed, kComputeStream + (std::uint64_t{batch} << 8));
  const double factor = std::exp(sigma * rng.normal() - sigma * sigma / 2);
  constexpr auto kMost = static_cast<double>(Nanos(kLongest).count());
  return Nanos{std::llround(std::min(static_cast<double>(mean.count()) * factor, kMost))};
}

Result<ComputeTime> parse_compute_time(std::string_view text) {
  if (!text.starts_with(kFirst)) {
    return parse_usual(text);
  }
  text.remove_prefix(kFirst.size());
  const std::size_t split = text.find('/');
  if (split == std::string_view::npos) {
    return usage_error(
        fmt::format("'first:{}' lacks the time of the others: first:500ms/12ms", text));
  }
  BLKSWEEP_TRY(const Nanos first, parse_time(text.substr(0, split)));
  BLKSWEEP_TRY(ComputeTime t, parse_usual(text.substr(split + 1)));
  t.first = first;
  return t;
}

std::string to_string(const ComputeTime& t) {
  return (t.first ? fmt::format("first:{}ns/", t.first->count()) : "") + usual_text(t);
}

}  // namespace blksweep
