#include "experiment/prediction_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <variant>

#include "base/units.h"
#include "disk/registry.h"
#include "os/block/blockdev.h"

namespace blksweep {
namespace {

void list(std::string& all, bool is, std::string_view name) {
  all += !is ? "" : fmt::format("{}{}", all.empty() ? "" : ", ", name);
}

// Stages between the read and the consumer's compute time.
std::string unmodelled_stages(const CellSettings& cell) {
  std::string all;
  list(all, cell.submit == SubmitOrder::reverse, "submit=reverse");
  list(all, cell.decode_threads > 0, fmt::format("decode-threads={}", cell.decode_threads));
  list(all, cell.copy != CopyKind::none, "copy");
  list(all, cell.consumer != ConsumerKind::none && cell.consumer != ConsumerKind::emulated,
       "consumer on the GPU (beyond its --compute time)");
  return all;
}

std::string unmodelled_node(const NodeWish& node) {
  std::string all;
  list(all, !node.scheduler.empty() && node.scheduler != "none", "scheduler=" + node.scheduler);
  list(all, node.nr_requests.has_value(), "nr-requests");
  list(all, node.nomerges.has_value(), "nomerges");
  list(all, node.bandwidth_limit.has_value(), "bandwidth-limit");
  list(all, node.iops_limit.has_value(), "iops-limit");
  list(all, node.memory_limit.has_value(), "memory-limit");
  list(all, !node.bind.empty(), "bind");
  list(all, node.io_priority.has_value(), "ioprio");
  return all;
}

// Of a map's part "depth" (docs/latency-map.md).
constexpr std::uint32_t kFittedDepth = 64;

constexpr std::uint64_t kFewRequests = 16;  // of a journal, or of somebody else

}  // namespace

std::vector<std::string> model_notes(const ModelSpec& model, const CellSettings& cell) {
  std::vector<std::string> notes;
  if (model.description.starts_with("POOR FIT")) {
    notes.push_back("the model says of itself: " + model.description);
  }
  const bool fitted = model.description.find("fitted to a latency map") != std::string::npos;
  if (fitted && cell.depth > kFittedDepth) {
    notes.push_back(
        fmt::format("depth above {}: the model was fitted to reads with as many in flight at most, "
                    "and what the "
                    "device does with more is not known",
                    kFittedDepth));
  }
  return notes;
}

std::vector<std::string> queue_notes(const std::vector<std::pair<std::string, std::string>>& queue,
                                     const CellSettings& cell) {
  std::vector<std::string> notes;
  for (const auto& [name, value] : queue) {
    const bool sorts = name == "scheduler" && value.find('[') != std::string::npos &&
                       value.find("[none]") == std::string::npos;
    if (sorts && cell.node.scheduler.empty()) {
      notes.push_back(fmt::format(
          "the disk's scheduler ({}): not modelled; compare with --scheduler none", value));
    }
    if (name == "nomerges" && value == "2" && !cell.node.nomerges) {  // with 1 the plug merges
      notes.emplace_back(
          "nomerges 2 of the disk's queue: not modelled; requests are those of a queue that "
          "merges");
    }
    const auto requests = parse_count(value);
    if (name == "nr_requests" && !cell.node.nr_requests && requests && *requests < cell.depth) {
      notes.push_back(fmt::format(
          "depth above the {} requests of the disk's queue: not modelled, they wait there", value));
    }
  }
  return notes;
}

std::vector<std::string> prediction_notes(const CellSettings& cell, const Plan& plan) {
  std::vector<std::string> notes;
  if (cell.cache == CacheState::cold && opens_files(plan)) {
    notes.emplace_back(
        "cache=cold: opening cold inodes reads metadata, which is not predicted; compare with "
        "--cache keep or --merge device");
  }
  if (const std::string stages = unmodelled_stages(cell); !stages.empty()) {
    notes.push_back(stages + ": not modelled and without cost here; the epoch can only be longer");
  }
  if (const std::string node = unmodelled_node(cell.node); !node.empty()) {
    notes.push_back(node + ": not modelled; the epoch is that of a node without");
  }
  return notes;
}

std::vector<std::string> place_notes(const ModelSpec& model, const std::string& disk) {
  const bool by_place = std::holds_alternative<RotatingSpec>(model.timing);
  if (!by_place || emulated_disk(disk) || !emulated_beneath(disk)) {
    return {};
  }
  return {fmt::format(
      "{} stands on an emulated disk: addresses are taken for that one's, and the size, too; how "
      "far its seeks are and how fast it reads there is another matter",
      disk)};
}

std::string requests_note(const PredictionRecord& prediction, const ProbeRecord& seen) {
  const auto [less, more] = std::minmax(prediction.requests, seen.requests);
  const bool clear = more - less > std::max(kFewRequests, more / 10);
  return clear && seen.lost_events == 0
             ? fmt::format("{} requests are predicted, and the probe saw {}: the epoch is another",
                           format_count(prediction.requests), format_count(seen.requests))
             : "";
}

void add_prediction(RunRecord& run, const PredictSettings& settings, const PredictedCell& of) {
  const auto p = predict_run(of.source, of.cell, of.planned, {settings, run.seed});
  if (!p) {
    run.warnings.push_back("no prediction: " + p.error().message());
    return;
  }
  run.prediction = prediction_record(*p, settings.model, run.epoch_ns);
  std::vector<std::string> notes = prediction_notes(of.cell, of.planned.plan);
  std::ranges::move(model_notes(settings.model, of.cell), std::back_inserter(notes));
  if (of.source.device) {
    std::ranges::move(place_notes(settings.model, of.source.device->disk),
                      std::back_inserter(notes));
    std::ranges::move(queue_notes(queue_settings(of.source.device->disk), of.cell),
                      std::back_inserter(notes));
  }
  if (run.probe) {
    notes.push_back(requests_note(*run.prediction, *run.probe));
    std::erase(notes, "");
  }
  for (const std::string& note : notes) {
    run.warnings.push_back("prediction: " + note);
  }
}

}  // namespace blksweep
