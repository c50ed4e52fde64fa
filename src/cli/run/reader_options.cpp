// Options of the reader: the planned one or workers, what a worker does with a batch, how much of
// each sample is read.
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

#include "cli/run/cell_options.h"

namespace blksweep {
namespace {

constexpr std::uint64_t kMostWorkers = 256;

Result<> set_reader(CellSettings& c, std::string_view text) {
  constexpr std::string_view kWorkers = "workers:";
  const auto count = text.starts_with(kWorkers) ? parse_count(text.substr(kWorkers.size()))
                                                : Result<std::uint64_t>(0);
  const bool fits = count && *count >= 1 && *count <= kMostWorkers;
  if (text != "planned" && !fits) {
    return usage_error(fmt::format(
        "'{}' is not planned or workers:N, N between 1 and {}, such as workers:4 (one worker at a "
        "time: workers:1 --prefetch 0)",
        text, kMostWorkers));
  }
  c.workers = static_cast<std::uint32_t>(*count);
  return {};
}

std::string reader_word(const CellSettings& c) {
  return c.workers == 0 ? "planned" : fmt::format("workers:{}", c.workers);
}

Result<> set_scope(CellSettings& c, std::string_view text) {
  for (const ReadScope scope : {ReadScope::sample, ReadScope::batch}) {
    if (to_string(scope) == text) {
      c.scope = scope;
      return {};
    }
  }
  return usage_error(fmt::format("'{}' is not one of sample, batch", text));
}

Result<> set_decode_cpu(CellSettings& c, std::string_view text) {
  BLKSWEEP_TRY(c.decode_cpu, parse_duration(text));
  return c.decode_cpu > std::chrono::seconds(1)
             ? usage_error(fmt::format("'{}': a sample takes 1s of CPU time at most", text))
             : Result<>();
}

Result<> set_read_share(CellSettings& c, std::string_view text) {
  constexpr double kOfPercent = ReadShare::kAll / 100.0;
  double percent = 0;
  const char* end = text.data() + text.size() - (text.ends_with('%') ? 1 : 0);
  const auto [rest, ec] = std::from_chars(text.data(), end, percent);
  const bool number = text.ends_with('%') && ec == std::errc{} && rest == end;
  if (!number || !(percent * kOfPercent >= 1 && percent <= 100)) {
    return usage_error(
        fmt::format("'{}' is not a share of each sample such as 25% (0.0001% at least)", text));
  }
  c.read_share = {static_cast<std::uint32_t>(std::lround(percent * kOfPercent))};
  return {};
}

std::string read_share_word(const CellSettings& c) {
  return fmt::format("{}%", c.read_share.millionths * 100.0 / ReadShare::kAll);
}

const std::array kReaderOptions{
    CellOption{"reader", "planned workers:N [planned]; --scope sample batch [sample]", set_reader,
               reader_word},
    CellOption{"scope", "", set_scope,
               [](const CellSettings& c) { return std::string(to_string(c.scope)); }},
    CellOption{"decode-cpu", "spun per sample: 1ms [0]; --decode-threads, packed too [0]",
               set_decode_cpu,
               [](const CellSettings& c) { return fmt::format("{}ns", c.decode_cpu.count()); }},
    CellOption{"read-share", "first part of each sample: 25%; default 100%", set_read_share,
               read_share_word},
};

}  // namespace

std::span<const CellOption> reader_options() { return kReaderOptions; }

Result<> settle_workers(CellSettings& c) {
  const EngineKind reads_with =
      c.scope == ReadScope::batch ? EngineKind::io_uring : EngineKind::psync;
  if (c.engine_named && c.engine != reads_with) {
    return usage_error(
        fmt::format("--engine {}: workers with --scope {} read with {}: leave it out",
                    to_string(c.engine), to_string(c.scope), to_string(reads_with)));
  }
  c.engine = reads_with;
  c.engine_named = true;
  c.order = c.order_named ? c.order : Order::random;
  c.decode_threads = c.decode_cpu.count() > 0 ? 0 : c.decode_threads;  // the workers decode
  return {};
}

}  // namespace blksweep
