#include "experiment/order_record.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "experiment/map_proof.h"
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

// Parcel -> the first batch with a sample that lies in it; empty: the schedule has no batches.
std::vector<std::uint32_t> first_batches(const Plan& plan, const Schedule& schedule) {
  std::vector<std::uint32_t> first;
  if (schedule.emission.size() != plan.order.size()) {
    return first;
  }
  first.assign(plan.parcel_bytes.size(), std::numeric_limits<std::uint32_t>::max());
  for (std::uint32_t b = 0; b < schedule.batches(); ++b) {
    for (std::uint32_t i = schedule.batch_begin[b]; i < schedule.batch_begin[b + 1]; ++i) {
      std::uint32_t& of_parcel = first[plan.parcel_of(schedule.emission[i])];
      of_parcel = std::min(of_parcel, b);
    }
  }
  return first;
}

Maybe<std::uint32_t> first_batch(const Plan& plan, const std::vector<std::uint32_t>& of_parcel,
                                 std::uint32_t read) {
  Maybe<std::uint32_t> first;
  if (of_parcel.empty()) {
    return first;
  }
  for (std::uint32_t p = plan.first_piece[read]; p < plan.first_piece[read + 1]; ++p) {
    const std::uint32_t batch = of_parcel[plan.pieces[p].parcel];
    first = std::min(first.value_or(batch), batch);
  }
  return first;
}

}  // namespace

void mark_reads(std::vector<IssuePoint>& points, const Catalog& catalog, const Plan& plan,
                const Schedule& schedule) {
  if (plan.epochs != 1) {  // a block is in the plan more than once
    return;
  }
  const std::vector<PlannedPlace> places = planned_places(catalog, plan);
  const std::vector<std::uint32_t> of_parcel = first_batches(plan, schedule);
  for (IssuePoint& p : points) {
    const std::uint64_t begin = p.sector * kSectorBytes;
    auto at = std::ranges::upper_bound(places, begin, {}, &PlannedPlace::begin);
    at -= at != places.begin() && std::prev(at)->end > begin ? 1 : 0;
    for (; at != places.end() && at->begin < begin + p.bytes; ++at) {
      p.read = std::min(p.read.value_or(at->read), at->read);
      const Maybe<std::uint32_t> batch = first_batch(plan, of_parcel, at->read);
      p.batch = batch ? std::min(p.batch.value_or(*batch), *batch) : p.batch;
    }
  }
}

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
