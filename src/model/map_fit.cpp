#include "model/map_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/rng.h"
#include "model/disk_model.h"
#include "model/simulate.h"

namespace blksweep {
namespace {

constexpr std::uint32_t kSequentialRead = 1U << 20;
constexpr double kUsualInterface = 500e6;  // SATA 3, after its 8b/10b coding and frames
constexpr std::uint32_t kUsualSegments = 16;

// What candidates are held against.
struct Target {
  const LatencyMap* map;
  const MapFacts* facts;
  std::uint32_t block;
  std::vector<LatencyRow> sizes;
  double sequential;  // bytes/s, mean over places; 0: unknown
  double single_ns;   // median latency of a small read at depth 1
};

std::vector<DiskRequest> random_requests(const Target& t, std::uint32_t bytes, std::size_t count) {
  Rng rng(1, 0xF17);
  std::vector<DiskRequest> out;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t offset = align_down(rng.below(t.map->size - bytes + 1), t.block);
    out.push_back({offset, bytes, false});
  }
  return out;
}

QueueResult simulated(const Target& t, const ModelSpec& spec, std::span<const DiskRequest> requests,
                      std::uint32_t depth) {
  const auto model = make_model(spec, {t.map->size});
  return simulate_queue(*model, requests, depth);
}

double per_second(double amount, std::int64_t ns) {
  return ns > 0 ? amount * 1e9 / static_cast<double>(ns) : 0;
}

double median_of(const LogHistogram& histogram) {
  const auto lower = static_cast<double>(bucket_percentile(histogram.buckets(), 0.5));
  return lower * (1 + 1.0 / 128);  // the bucket's middle
}

void check_depths(const Target& t, const ModelSpec& spec, std::vector<FitCheck>& checks) {
  for (const DepthRate& d : t.facts->depths) {
    const std::size_t count = 500 + 30 * std::size_t{d.depth};
    const auto r = simulated(t, spec, random_requests(t, t.block, count), d.depth);
    checks.push_back({fmt::format("{} at depth {}, reads/s", format_bytes({t.block}), d.depth),
                      d.per_s, per_second(static_cast<double>(count), r.wall_ns)});
  }
}

void check_sizes(const Target& t, const ModelSpec& spec, std::vector<FitCheck>& checks) {
  constexpr std::size_t kReads = 300;
  for (const LatencyRow& row : t.sizes) {
    const auto bytes = static_cast<std::uint32_t>(row.key);
    const auto r = simulated(t, spec, random_requests(t, bytes, kReads), 1);
    checks.push_back({fmt::format("{} at depth 1, median latency, us", format_bytes({bytes})),
                      static_cast<double>(row.p50) / 1e3, median_of(r.latency) / 1e3});
  }
}

void check_sequential(const Target& t, const ModelSpec& spec, std::vector<FitCheck>& checks) {
  if (t.sequential <= 0) {
    return;
  }
  // In the middle of each measured stretch, as they were read.
  double sum = 0;
  for (const ZoneRate& z : t.facts->zones) {
    std::vector<DiskRequest> requests;
    const std::uint64_t from = z.offset - std::min(z.offset, 4 * kMiB);
    for (std::uint64_t at = from; requests.size() < 8 && at + kSequentialRead <= t.map->size;
         at += kSequentialRead) {
      requests.push_back({at, kSequentialRead, false});
    }
    // Twice as long less once: without the way there.
    const auto half = std::span(requests).first(requests.size() / 2);
    const std::int64_t ns =
        simulated(t, spec, requests, 2).wall_ns - simulated(t, spec, half, 2).wall_ns;
    sum += per_second(static_cast<double>((requests.size() - half.size()) * kSequentialRead), ns);
  }
  checks.push_back({"sequential, mean over places, MB/s", t.sequential / 1e6,
                    sum / static_cast<double>(t.facts->zones.size()) / 1e6});
}

double error_of(const std::vector<FitCheck>& checks) {
  double sum = 0;
  for (const FitCheck& c : checks) {
    const double e = c.model > 0 && c.measured > 0 ? std::log(c.model / c.measured) : 3;
    sum += e * e;
  }
  return checks.empty() ? 0 : std::sqrt(sum / static_cast<double>(checks.size()));
}

std::vector<FitCheck> all_checks(const Target& t, const ModelSpec& spec) {
  std::vector<FitCheck> checks;
  check_depths(t, spec, checks);
  check_sizes(t, spec, checks);
  check_sequential(t, spec, checks);
  return checks;
}

// --- a disk ----------------------------------------------------------------------------------

SeekCurve curve_of(const MapFacts& facts, std::uint64_t size, bool forward) {
  SeekCurve curve;
  for (const SeekEstimate& s : facts.seeks) {
    if ((s.distance > 0) == forward) {
      const double fraction = std::abs(static_cast<double>(s.distance)) / static_cast<double>(size);
      curve.push_back({fraction, std::max(1.0, s.ns)});
    }
  }
  std::ranges::sort(curve, {}, &SeekPoint::fraction);
  return curve;
}

// One rate for each of equal zones; where no stretch was read, that of the nearest that was.
std::vector<double> rates_of(const MapFacts& facts, std::uint64_t size) {
  constexpr std::size_t kZones = 16;
  std::vector<double> rates;
  for (std::size_t i = 0; i < kZones; ++i) {
    const double middle =
        (static_cast<double>(i) + 0.5) / static_cast<double>(kZones) * static_cast<double>(size);
    const auto nearest = std::ranges::min_element(facts.zones, {}, [middle](const ZoneRate& z) {
      return std::abs(static_cast<double>(z.offset) - middle);
    });
    rates.push_back(nearest->bytes_per_s);
  }
  return rates;
}

Result<> require_disk_parts(const MapFacts& facts) {
  const auto missing = [](const char* what, const char* parts) {
    return fail(fmt::format("--fit: {}: map with --parts {} and more --seconds", what, parts));
  };
  if (!facts.path_ns) {
    return missing("a disk without cached reads: its path time is unknown", "cached");
  }
  if (facts.seeks.size() < 8) {
    return missing("too few distances for a seek curve", "distance");
  }
  if (facts.zones.size() < 3) {
    return missing("too few places with a sequential rate", "zone");
  }
  if (facts.depths.size() < 2) {
    return missing("too few depths", "depth");
  }
  return {};
}

RotatingSpec rotating_spec(const Target& t, std::vector<std::string>& notes) {
  const MapFacts& f = *t.facts;
  RotatingSpec spec;
  spec.rotation_ns = f.rotation->period_ns;
  spec.seek_forward = curve_of(f, t.map->size, true);
  spec.seek_backward = curve_of(f, t.map->size, false);
  spec.zone_rates = rates_of(f, t.map->size);
  spec.stroke = {t.map->size};
  spec.interface_rate = f.cached_rate.value_or(kUsualInterface);
  if (!f.cached_rate) {
    notes.emplace_back("cached reads of several sizes do not show the interface's rate: 500 MB/s");
  }
  const double slowest = std::ranges::max(spec.zone_rates);
  if (spec.interface_rate < slowest) {
    notes.emplace_back("the cached rate is below the medium's: the medium's is taken");
    spec.interface_rate = slowest;
  }
  spec.overhead_ns = std::max(0.0, *f.path_ns - t.block * 1e9 / spec.interface_rate);
  spec.cache_segments = kUsualSegments;
  notes.emplace_back("cache segments and ageing cannot be seen from outside: 16 of 256 KiB, none");
  notes.emplace_back("overhead includes this host's path to the device");
  return spec;
}

Result<MapFit> fit_disk(const Target& t) {
  BLKSWEEP_CHECK(require_disk_parts(*t.facts));
  MapFit best;
  RotatingSpec spec = rotating_spec(t, best.notes);
  if (spec.seek_forward.size() < 4 || spec.seek_backward.size() < 4) {
    return fail("--fit: seeks in one direction only: map with more --seconds");
  }
  double least = INFINITY;
  for (const std::uint32_t queue : {1U, 2U, 4U, 8U, 16U, 32U, 64U}) {
    RotatingSpec candidate = spec;
    candidate.queue = queue;
    std::vector<FitCheck> checks;
    check_depths(t, {"", "", candidate}, checks);
    if (const double error = error_of(checks); error < least) {
      least = error;
      spec.queue = queue;
      best.spec.timing = candidate;
    }
  }
  best.spec.description =
      fmt::format("a disk of {:.0f} rpm, queue {}, fitted to a latency map of {}",
                  60e9 / spec.rotation_ns, spec.queue, t.map->device);
  return best;
}

// --- no rotation -----------------------------------------------------------------------------

// The most bytes per second that any part of the map saw.
double link_rate(const Target& t) {
  double most = 0;
  for (const ZoneRate& z : t.facts->zones) {
    most = std::max(most, z.bytes_per_s);
  }
  for (const DepthRate& d : t.facts->depths) {
    most = std::max(most, d.per_s * t.block);
  }
  for (const LatencyRow& row : t.sizes) {
    most = std::max(most, per_second(static_cast<double>(row.key), row.p50));
  }
  return most;
}

double most_reads_per_s(const Target& t) {
  return t.facts->depths.empty() ? 1e9 / t.single_ns
                                 : std::ranges::max(t.facts->depths, {}, &DepthRate::per_s).per_s;
}

std::vector<ModelSpec> flash_candidates(const Target& t) {
  std::vector<ModelSpec> out;
  for (const double link : {1.0, 1.2}) {
    for (const double outside : {0.05, 0.2, 0.4, 0.6, 0.8, 0.95}) {
      for (std::uint32_t channels = 1; channels <= 256; channels *= 2) {
        FlashSpec f;
        f.link_rate = link * link_rate(t);
        const double rest = std::max(1000.0, t.single_ns - t.block * 1e9 / f.link_rate);
        f.overhead_ns = outside * rest;
        f.read_ns = (1 - outside) * rest;
        f.write_ns = f.read_ns;
        f.channels = channels;
        f.queue = 256;
        out.push_back({"",
                       fmt::format("flash with {} channels, fitted to a latency map of {}",
                                   channels, t.map->device),
                       f});
      }
    }
  }
  return out;
}

// A server far away: what dominates is there at every size and depth.
std::vector<ModelSpec> remote_candidates(const Target& t) {
  constexpr double kNear = 200e3;
  std::vector<ModelSpec> out;
  if (t.single_ns < kNear || t.sizes.empty()) {
    return out;
  }
  const double p90 = static_cast<double>(t.sizes.front().p90);
  for (const double link : {1.0, 1.2}) {
    for (const double share : {1.0, 0.5, 0.1}) {
      RemoteSpec r;
      r.link_rate = link * link_rate(t);
      r.request_ns = share * 1e9 / most_reads_per_s(t);
      r.round_trip_ns = std::max(1000.0, t.single_ns - r.request_ns - t.block * 1e9 / r.link_rate);
      r.jitter = std::max(0.0, std::log(p90 / t.single_ns) / 1.2816);
      out.push_back(
          {"", "a server behind a network, fitted to a latency map of " + t.map->device, r});
    }
  }
  return out;
}

Result<MapFit> fit_without_rotation(const Target& t) {
  if (t.facts->depths.size() < 2 || t.sizes.size() < 2) {
    return fail("--fit: needs latencies by size and depth: map with --parts size,depth,zone");
  }
  std::vector<ModelSpec> candidates = flash_candidates(t);
  std::ranges::move(remote_candidates(t), std::back_inserter(candidates));
  MapFit best;
  best.error = INFINITY;
  for (ModelSpec& spec : candidates) {
    std::vector<FitCheck> checks = all_checks(t, spec);
    if (const double error = error_of(checks); error < best.error) {
      best.error = error;
      best.spec = std::move(spec);
    }
  }
  best.notes.emplace_back("no rotation was found: the model knows no distance");
  best.notes.emplace_back("writes were not measured: they are taken to be as fast as reads");
  if (t.map->rotational) {
    best.notes.emplace_back("the kernel calls this device rotational: map with more --seconds");
  }
  return best;
}

double single_latency(const Target& t, const LatencyMap& map) {
  if (!t.sizes.empty()) {
    return static_cast<double>(t.sizes.front().p50);
  }
  const auto rows = latency_rows(map, MapPart::depth);
  return rows.empty() ? 0 : static_cast<double>(rows.front().p50);
}

Target target_of(const LatencyMap& map, const MapFacts& facts) {
  Target t{&map, &facts, 0, latency_rows(map, MapPart::size), 0, 0};
  t.block = t.sizes.empty() ? kPageBytes : static_cast<std::uint32_t>(t.sizes.front().key);
  t.single_ns = single_latency(t, map);
  for (const ZoneRate& z : facts.zones) {
    t.sequential += z.bytes_per_s / static_cast<double>(facts.zones.size());
  }
  return t;
}

}  // namespace

WorstCheck worst_check(const MapFit& fit) {
  WorstCheck worst;
  for (const FitCheck& c : fit.checks) {
    const double off = c.model > 0 && c.measured > 0
                           ? std::max(c.model / c.measured, c.measured / c.model)
                           : INFINITY;
    if (worst.what.empty() || off > worst.times_off) {
      worst = {c.what, off};
    }
  }
  return worst;
}

Result<MapFit> fit_map(const LatencyMap& map, const MapFacts& facts) {
  const Target t = target_of(map, facts);
  BLKSWEEP_TRY(MapFit fit, facts.rotation ? fit_disk(t) : fit_without_rotation(t));
  fit.spec.name = "measured";
  fit.checks = all_checks(t, fit.spec);
  fit.error = error_of(fit.checks);
  return fit;
}

}  // namespace blksweep
