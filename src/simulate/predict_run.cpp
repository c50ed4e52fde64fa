#include "simulate/predict_run.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "disk/registry.h"
#include "stats/histogram.h"

namespace blksweep {

Result<Prediction> predict_run(const Source& source, const LoaderSettings& settings,
                               const PlannedEpoch& planned, const PredictRequest& request) {
  if (settings.workers > 0) {
    return usage_error("--reader workers:N is not modelled, only the planned reader is");
  }
  if (settings.direct && !source.direct_possible && opens_files(planned.plan)) {
    return usage_error(fmt::format(
        "{}: O_DIRECT is refused, so a run is buffered, which is not predicted (the page cache has "
        "no model): put the data on a filesystem that reads directly",
        source.catalog.root));
  }
  const auto model = make_model(request.how.model, request.how.size, request.seed);
  SimDevice device;
  device.size = request.how.size;
  device.max_request = request.how.max_request;
  device.speedup = request.how.speedup;
  device.host_cost = request.how.host_cost;
  return predict({source.catalog, planned, settings, request.seed, *model, device});
}

PredictionRecord prediction_record(const Prediction& p, const ModelSpec& model,
                                   std::int64_t measured_epoch_ns) {
  PredictionRecord r;
  r.model = model.name;
  r.model_hash = model_hash(model);
  r.epoch_ns = p.epoch_ns;
  r.first_batch_ns = p.first_batch_ns;
  r.requests = p.device.requests;
  r.depth_mean = p.depth_mean();
  if (measured_epoch_ns > 0) {
    r.error = static_cast<double>(p.epoch_ns) / static_cast<double>(measured_epoch_ns) - 1;
  }
  return r;
}

std::string model_hash(const ModelSpec& model) {
  const std::string text = to_toml(model);
  return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

PredictSettings predict_settings(const Source& source, const ModelSpec& model) {
  PredictSettings s{.model = model, .size = disk_size(source)};
  if (source.device) {
    if (const auto emulated = emulated_beneath(source.device->disk)) {
      s.speedup = emulated->speedup;
    }
    s.max_request = longest_request(queue_settings(source.device->disk)).value_or(s.max_request);
  }
  return s;
}

// As experiment/describe_host.cpp writes it: "emulated hdd-7200 x10 089cd91211d51d7f".
double stored_speedup(const std::vector<LayerFactRecord>& layers) {
  const auto found = std::ranges::find(layers, "emulation", &LayerFactRecord::name);
  if (found == layers.end()) {
    return 1;
  }
  const std::string_view text = std::string_view(found->value).substr(0, found->value.rfind(' '));
  const std::size_t at = text.rfind(" x");
  double speedup = 0;
  if (at != std::string_view::npos) {
    std::from_chars(text.data() + at + 2, text.data() + text.size(), speedup);
  }
  return speedup > 0 ? speedup : 1;
}

std::optional<std::uint32_t> longest_request(
    const std::vector<std::pair<std::string, std::string>>& queue) {
  std::optional<std::uint32_t> longest;
  for (const auto& [name, value] : queue) {
    const auto kib = parse_count(value);
    if (name == "max_sectors_kb" && kib && *kib > 0 && *kib <= (1U << 20)) {
      longest = static_cast<std::uint32_t>(*kib << 10);
    }
  }
  return longest;
}

Bytes disk_size(const Source& source) {
  Bytes size = least_device(source.catalog);
  if (source.device) {
    size.n = std::max(size.n, source.device->partition_start + source.device->size);
    if (const auto whole = block_device_of_dev(source.device->whole_disk)) {
      size.n = std::max(size.n, whole->size);
    }
  }
  return size;
}

std::pair<Maybe<std::uint64_t>, Maybe<std::uint64_t>> latency_percentiles(const Prediction& p) {
  const Histogram buckets = p.device.latency.buckets();
  if (buckets.empty()) {
    return {};
  }
  return {bucket_percentile(buckets, 0.5), bucket_percentile(buckets, 0.99)};
}

}  // namespace blksweep
