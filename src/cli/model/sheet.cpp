#include "cli/model/sheet.h"

#include <fmt/format.h>

#include "base/rng.h"
#include "base/table.h"
#include "model/simulate.h"

namespace blksweep {
namespace {

std::vector<DiskRequest> uniform_reads(const SheetSettings& s) {
  Rng rng(s.seed);
  const std::uint64_t places = (s.size.n - s.request.n) / kPageBytes + 1;
  std::vector<DiskRequest> reads(s.reads);
  for (DiskRequest& r : reads) {
    r = {rng.below(places) * kPageBytes, static_cast<std::uint32_t>(s.request.n), false};
  }
  return reads;
}

DepthRow simulate_depth(const ModelSheet& sheet, const std::vector<DiskRequest>& reads,
                        std::uint32_t depth) {
  const auto model = make_model(sheet.spec, sheet.settings.size, sheet.settings.seed);
  const auto wall = static_cast<double>(simulate_queue(*model, reads, depth).wall_ns);
  const auto n = static_cast<double>(reads.size());
  const auto rate = wall > 0 ? std::optional(n * 1e9 / wall) : std::nullopt;  // no limit
  return {depth, rate, wall * depth / n};                                     // Little's law
}

std::string rate_text(const std::optional<double>& bytes_per_s) {
  return bytes_per_s ? fmt::format("{:.1f} MB/s", *bytes_per_s / 1e6) : "no limit";
}

std::string time_text(const std::optional<double>& ns) {
  return ns ? format_duration(Nanos{static_cast<std::int64_t>(*ns)}) : "none";
}

}  // namespace

Result<ModelSheet> model_sheet(const ModelSpec& spec, const SheetSettings& settings) {
  if (settings.request.n == 0 || settings.request.n > settings.size.n ||
      settings.request.n > std::uint64_t{64} << 20) {
    return usage_error(
        fmt::format("--request {}: must be from 1 B to 64 MiB and fit into --size {}",
                    format_bytes(settings.request), format_bytes(settings.size)));
  }
  ModelSheet sheet{spec, settings, model_facts(spec, settings.size), {}};
  const std::vector<DiskRequest> reads = uniform_reads(settings);
  for (const std::uint32_t depth : settings.depths) {
    sheet.random.push_back(simulate_depth(sheet, reads, depth));
  }
  return sheet;
}

std::string sheet_text(const ModelSheet& sheet) {
  const ModelFacts& f = sheet.facts;
  Table table;
  table.column("depth");
  table.column("reads/s");
  table.column("mean latency");
  for (const DepthRow& row : sheet.random) {
    table.row({format_count(row.depth),
               row.reads_per_s ? fmt::format("{:.1f}", *row.reads_per_s) : "-",
               time_text(row.mean_ns)});
  }
  return fmt::format(
      "{}: {}\n"
      "  seek, mean        {}\n"
      "  rotation          {}\n"
      "  4 KiB at depth 1  {} (analytic mean, uniform over {})\n"
      "  sequential        {} at the beginning, {} at the end, {} over all\n\n"
      "{} reads of {} at uniform places, simulated:\n{}",
      sheet.spec.name, sheet.spec.description, time_text(f.seek_mean_ns), time_text(f.rotation_ns),
      time_text(f.random_mean_ns), format_bytes(sheet.settings.size), rate_text(f.sequential_begin),
      rate_text(f.sequential_end), rate_text(f.sequential_mean), format_count(sheet.settings.reads),
      format_bytes(sheet.settings.request), table.text());
}

Json sheet_json(const ModelSheet& sheet) {
  const auto number = [](const std::optional<double>& n) { return n ? Json(*n) : Json(); };
  Json out = {{"model", sheet.spec.name},
              {"description", sheet.spec.description},
              {"size_bytes", sheet.settings.size.n},
              {"request_bytes", sheet.settings.request.n},
              {"seek_mean_ns", number(sheet.facts.seek_mean_ns)},
              {"rotation_ns", number(sheet.facts.rotation_ns)},
              {"random_mean_ns", number(sheet.facts.random_mean_ns)},
              {"sequential_begin_bytes_per_s", number(sheet.facts.sequential_begin)},
              {"sequential_end_bytes_per_s", number(sheet.facts.sequential_end)},
              {"sequential_mean_bytes_per_s", number(sheet.facts.sequential_mean)},
              {"random", Json::array()}};
  for (const DepthRow& row : sheet.random) {
    out["random"].push_back(
        {{"depth", row.depth}, {"reads_per_s", number(row.reads_per_s)}, {"mean_ns", row.mean_ns}});
  }
  return out;
}

}  // namespace blksweep
