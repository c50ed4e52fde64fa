#include "experiment/record/attribution_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/units.h"

namespace blksweep {
namespace {

bool has_addresses(const Catalog& catalog) {
  return std::ranges::any_of(catalog.extents, &ExtentRecord::has_address);
}

std::vector<ProbeIssue> reads_of(const ProbeRecord& probe) {
  std::vector<ProbeIssue> reads;
  reads.reserve(probe.issues.size());
  for (const IssuePoint& p : probe.issues) {
    reads.push_back({p.at_ns, p.sector, p.bytes, p.latency_ns, p.origin});
  }
  return reads;
}

void add_classes(const Attribution& found, bool told_apart, AttributionRecord& out) {
  for (const ReadClass c : kReadClasses) {
    RequestClassRecord row{to_string(c), found.of(c).requests, found.of(c).bytes};
    if (c == ReadClass::other && !told_apart) {
      row.requests.reset();
      row.bytes.reset();
    }
    out.classes.push_back(std::move(row));
  }
}

void add_others(const OtherRequests& o, AttributionRecord& out) {
  out.classes.push_back({"writes", o.writes, o.write_bytes});
  out.classes.push_back({"flushes", o.flushes, 0});
  out.classes.push_back({"discards", o.discards, o.discard_bytes});
}

void add_paths(const char* kind, const std::vector<PathTraffic>& paths, AttributionRecord& out) {
  for (const PathTraffic& p : paths) {
    out.paths.push_back(
        {kind, p.path, p.traffic.requests, p.traffic.bytes, p.traffic.latency_mean_ns()});
  }
}

}  // namespace

AttributionRecord attribution_record(const Attribution& found, const OtherRequests& others,
                                     bool told_apart) {
  AttributionRecord out;
  add_classes(found, told_apart, out);
  add_others(others, out);
  add_paths("file", found.files, out);
  add_paths("folder", found.folders, out);
  std::ranges::transform(found.extents, std::back_inserter(out.extents), [](const auto& e) {
    const ReadTraffic& t = e.traffic;
    return RequestExtentRecord{e.path,     e.file_offset, e.address,          e.length,
                               t.requests, t.bytes,       t.latency_mean_ns()};
  });
  std::ranges::transform(found.latency, std::back_inserter(out.latency), [](const LatencyCell& c) {
    return RequestLatencyRecord{c.bytes, c.latency_ns, c.requests};
  });
  return out;
}

Maybe<AttributionRecord> attribution_record(const ProbeRecord& probe, const AttributionInputs& in) {
  const bool whole = probe.issues.size() == probe.requests && probe.lost_events == 0;
  if (!probe.origins || !whole || !has_addresses(in.catalog)) {
    return std::nullopt;
  }
  const OwnerMap map(in.catalog, in.plan);
  const bool told_apart = probe.makers && !in.ours.empty();
  const Attribution found = attribute(
      {in.catalog, map, told_apart ? in.ours : std::span<const std::uint32_t>()}, reads_of(probe));
  return attribution_record(found, probe.others, told_apart);
}

std::string attribution_warning(const Maybe<AttributionRecord>& attribution) {
  for (const RequestClassRecord& c :
       attribution ? attribution->classes : std::vector<RequestClassRecord>()) {
    if (c.kind == kUnattributed && c.requests.value_or(0) > 0) {
      return fmt::format(
          "{} requests read {} of neither the data set nor the filesystem's metadata: other files "
          "of this disk, compressed extents, or addresses that are not true",
          format_count(*c.requests), format_bytes({c.bytes.value_or(0)}));
    }
  }
  return {};
}

}  // namespace blksweep
