#include "experiment/record/order_record.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "experiment/proof/map_proof.h"
#include "stats/order_survival.h"

namespace blksweep {
namespace {

using Layers = std::vector<std::pair<std::string, OrderSurvival>>;

// Without what places have in common because ends are rounded up to pages; false: reads share more.
bool part(std::vector<PlannedPlace>& places) {
  for (std::size_t i = 0; i + 1 < places.size(); ++i) {
    const std::uint64_t next = places[i + 1].begin;
    if (next <= places[i].begin || places[i].end >= next + kPageBytes) {
      return false;
    }
    places[i].end = std::min(places[i].end, next);
  }
  return true;
}

std::vector<SeenRequest> seen_in(std::span<const IssuePoint> points) {
  std::vector<SeenRequest> seen;
  for (const IssuePoint& p : points) {
    const std::uint64_t at = p.sector * kSectorBytes;
    seen.push_back({at, at + p.bytes});
  }
  return seen;
}

// In the order of their completion; nothing where one of them was not seen.
std::vector<IssuePoint> completed(std::vector<IssuePoint> issues) {
  if (!std::ranges::all_of(issues, [](const IssuePoint& p) { return p.latency_ns.has_value(); })) {
    return {};
  }
  std::ranges::stable_sort(issues, {}, [](const IssuePoint& p) { return p.at_ns + *p.latency_ns; });
  return issues;
}

// Without a scheduler a few are inserted where the driver was busy: no layer that all reads pass.

void drop_bypassed(Layers& layers) {
  const auto issue = std::ranges::find(layers, "issue", &Layers::value_type::first);
  std::erase_if(layers, [&](const auto& l) {
    return l.first == "insert" &&
           (issue == layers.end() || static_cast<double>(l.second.reads) <
                                         kMostPass * static_cast<double>(issue->second.reads));
  });
}

void add_layer(const std::string& layer, std::span<const IssuePoint> points,
               const OrderQuestion& question, Layers& out) {
  auto found = order_survival(question, seen_in(points));
  if (found && found->reads >= kLeastSeen) {
    out.emplace_back(layer, *std::move(found));
  }
}

OrderRecord to_record(const std::string& layer, OrderSurvival&& o, std::string verdict) {
  OrderRecord r{.layer = layer,
                .reads = o.reads,
                .kept = o.kept,
                .tau = o.tau,
                .inversions = o.inversions,
                .reversed = o.reversed,
                .reversed_run = o.reversed_run,
                .batches = {},
                .batches_reversed = {},
                .displaced_p50 = o.displaced_p50,
                .displaced_p99 = o.displaced_p99,
                .displaced_max = o.displaced_max,
                .verdict = std::move(verdict),
                .displaced = std::move(o.displaced)};
  if (o.batches) {
    r.batches = o.batches->batches;
    r.batches_reversed = o.batches->reversed;
  }
  return r;
}

}  // namespace

std::vector<OrderRecord> order_records(const ProbeRecord& probe, const OrderInputs& in) {
  const bool whole = probe.issues.size() == probe.requests && probe.lost_events == 0;
  std::vector<PlannedPlace> places;
  if (whole && in.plan.epochs == 1) {
    places = planned_places(in.catalog, in.plan);
  }
  if (places.empty() || !part(places)) {
    return {};
  }
  const OrderQuestion question{places, std::max(in.depth, 2U), in.submissions};
  Layers layers;
  add_layer("queue", probe.queued, question, layers);
  add_layer("insert", probe.inserted, question, layers);
  add_layer("issue", probe.issues, question, layers);
  add_layer("complete", completed(probe.issues), question, layers);
  drop_bypassed(layers);
  const std::vector<LayerVerdict> verdicts = order_verdicts(layers);
  std::vector<OrderRecord> out;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    out.push_back(to_record(layers[i].first, std::move(layers[i].second), verdicts[i].text));
  }
  return out;
}

}  // namespace blksweep
