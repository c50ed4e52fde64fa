#include <algorithm>
#include <cmath>

#include "model/disk_model.h"
#include "model/flash.h"
#include "model/instant.h"
#include "model/remote.h"
#include "model/rotating.h"
#include "model/zones.h"

namespace blksweep {
namespace {

constexpr double kRead = 4096;

double transfer_ns(double bytes, double rate) { return bytes * 1e9 / rate; }

ModelFacts facts_of(const InstantSpec& /*spec*/, Bytes /*size*/) {
  ModelFacts facts;
  facts.random_mean_ns = 0;
  return facts;
}

// Over pairs within the device, which may be a part of the stroke only.
double mean_over_device(SeekCurve curve, double share_of_stroke) {
  for (SeekPoint& point : curve) {
    point.fraction /= share_of_stroke;
  }
  return mean_seek_ns(curve);
}

ModelFacts facts_of(const RotatingSpec& spec, Bytes size) {
  const std::uint64_t span = span_of(spec, size);
  const auto bytes = static_cast<double>(std::max(size.n, std::uint64_t{1}));
  const Zones zones(spec.zone_rates, spec.rotation_ns, span);
  const double share = bytes / static_cast<double>(span);
  const auto last_zone =
      static_cast<std::size_t>(std::ceil(share * static_cast<double>(spec.zone_rates.size())) - 1);
  const double total_ns = zones.revolutions(static_cast<std::uint64_t>(bytes)) * spec.rotation_ns;
  ModelFacts facts;
  facts.rotation_ns = spec.rotation_ns;
  facts.seek_mean_ns =
      (mean_over_device(spec.seek_forward, share) + mean_over_device(spec.seek_backward, share)) /
      2;
  facts.sequential_begin = spec.zone_rates.front();
  facts.sequential_end = spec.zone_rates[std::min(last_zone, spec.zone_rates.size() - 1)];
  facts.sequential_mean = bytes * 1e9 / total_ns;
  facts.random_mean_ns = spec.overhead_ns + *facts.seek_mean_ns + spec.rotation_ns / 2 +
                         transfer_ns(kRead, *facts.sequential_mean);
  return facts;
}

void set_sequential(ModelFacts& facts, double rate) {
  facts.sequential_begin = facts.sequential_end = facts.sequential_mean = rate;
}

ModelFacts facts_of(const FlashSpec& spec, Bytes /*size*/) {
  const auto page = static_cast<double>(spec.page.n);
  const double pages = std::ceil(kRead / page);
  ModelFacts facts;
  facts.random_mean_ns = spec.overhead_ns + std::ceil(pages / spec.channels) * spec.read_ns +
                         transfer_ns(kRead, spec.link_rate);
  set_sequential(facts, std::min(spec.link_rate, spec.channels * page * 1e9 / spec.read_ns));
  return facts;
}

ModelFacts facts_of(const RemoteSpec& spec, Bytes /*size*/) {
  ModelFacts facts;
  // The mean of a log-normal factor with median 1.
  const double factor = std::exp(spec.jitter * spec.jitter / 2);
  facts.random_mean_ns =
      spec.round_trip_ns * factor + spec.request_ns + transfer_ns(kRead, spec.link_rate);
  set_sequential(facts, spec.link_rate);
  return facts;
}

}  // namespace

ModelFacts model_facts(const ModelSpec& spec, Bytes size) {
  return std::visit([&](const auto& timing) { return facts_of(timing, size); }, spec.timing);
}

std::unique_ptr<DiskModel> make_model(const ModelSpec& spec, Bytes size, std::uint64_t seed) {
  if (const auto* rotating = std::get_if<RotatingSpec>(&spec.timing)) {
    return make_rotating(*rotating, size);
  }
  if (const auto* flash = std::get_if<FlashSpec>(&spec.timing)) {
    return make_flash(*flash);
  }
  if (const auto* remote = std::get_if<RemoteSpec>(&spec.timing)) {
    return make_remote(*remote, seed);
  }
  return make_instant();
}

}  // namespace blksweep
