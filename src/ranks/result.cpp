#include "ranks/result.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/table.h"
#include "base/units.h"
#include "loader/verify.h"

namespace blksweep {
namespace {

double per_second(std::uint64_t amount, std::int64_t ns) {
  return ns > 0 ? static_cast<double>(amount) * 1e9 / static_cast<double>(ns) : 0;
}

// null where nothing came that it could be a time of.
Json time_json(std::uint64_t samples, std::int64_t ns) {
  return samples > 0 ? Json(ns) : Json(nullptr);
}

Json content_json(std::uint64_t content) {
  return content == 0 ? Json(nullptr) : Json(fmt::format("{:016x}", content));
}

std::optional<std::uint64_t> storage_of(const RankRow& r) {
  return r.storage_known != 0 ? std::optional(r.storage_bytes) : std::nullopt;
}

Json quality_of(const std::optional<RanksQuality>& quality) {
  const RanksQuality q = quality.value_or(RanksQuality{});
  return {{"displacement", or_null(q.displacement)},
          {"rank_decorrelation", or_null(q.rank_decorrelation)},
          {"neighbours_broken", or_null(q.neighbours_broken)},
          {"label_mix", or_null(q.label_mix)},
          {"rank_label_mix", or_null(q.rank_label_mix)}};
}

Json row_json(const RankRow& r) {
  return {{"rank", r.rank},
          {"node", r.node},
          {"host", r.host_name()},
          {"on_node", r.on_node},
          {"cpus", r.cpus},
          {"state", to_string(r.state)},
          {"samples", r.samples},
          {"bytes", r.bytes},
          {"storage_bytes", or_null(storage_of(r))},
          {"batches", r.batches},
          {"wrong_samples", r.wrong},
          {"content_hash", content_json(r.content)},
          {"begin_ns", r.begin_ns},
          {"first_batch_ns", time_json(r.samples, r.first_ns)},
          {"last_batch_ns", time_json(r.samples, r.last_ns)},
          {"waited_ns", r.waited_ns},
          {"barrier_ns", r.barrier_ns},
          {"bytes_per_s", per_second(r.bytes, r.last_ns)},
          {"samples_per_s", per_second(r.samples, r.last_ns)},
          {"clock_offset_ns", r.clock_offset_ns},
          {"clock_error_ns", r.clock_error_ns}};
}

Json joined_json(const JoinedRow& j) {
  return {{"samples", j.samples},
          {"bytes", j.bytes},
          {"storage_bytes", or_null(j.storage_bytes)},
          {"nodes", j.nodes},
          {"batches", j.batches},
          {"batch_ns", time_json(j.batches, j.last_done_ns / std::max(1U, j.batches))},
          {"wrong_samples", j.wrong},
          {"content_hash", content_json(j.content)},
          {"start_skew_ns", j.start_skew_ns},
          {"first_done_ns", time_json(j.samples, j.first_done_ns)},
          {"last_done_ns", time_json(j.samples, j.last_done_ns)},
          {"skew_ns", time_json(j.samples, j.skew_ns())},
          {"waited_ns", j.waited_ns},
          {"barrier_ns", j.barrier_ns},
          {"bytes_per_s", per_second(j.bytes, j.last_done_ns)},
          {"samples_per_s", per_second(j.samples, j.last_done_ns)},
          {"clock_error_ns", j.clock_error_ns}};
}

std::string host_of(const RanksResult& result, std::uint32_t rank) {
  const auto row = std::ranges::find(result.rows, rank, &RankRow::rank);
  return row == result.rows.end() ? "" : row->host_name();
}

Json fault_json(const RanksResult& result) {
  if (!result.fault) {
    return nullptr;
  }
  return {{"rank", result.fault->rank},
          {"lost", result.fault->lost},
          {"host", or_null(host_of(result, result.fault->rank))},
          {"what", result.fault->text}};
}

std::string rate_text(std::uint64_t bytes, std::int64_t ns) {
  const double rate = per_second(bytes, ns);
  return rate > 0 ? format_bytes({static_cast<std::uint64_t>(rate)}) + "/s" : "-";
}

std::string ns_text(std::int64_t ns) { return format_duration(Nanos{ns}); }

// Where no batch came there is no time of one.
std::string when_text(const RankRow& r, std::int64_t ns) {
  return r.samples > 0 ? ns_text(ns) : "-";
}

}  // namespace

JoinedRow join_rows(std::span<const RankRow> rows) {
  JoinedRow j;
  j.storage_bytes = 0;
  std::set<std::uint32_t> nodes;
  std::vector<std::int64_t> begins, ends;
  for (const RankRow& r : rows) {
    j.samples += r.samples;
    j.bytes += r.bytes;
    j.wrong += r.wrong;
    const auto storage = storage_of(r);
    j.storage_bytes =
        j.storage_bytes && storage ? std::optional(*j.storage_bytes + *storage) : std::nullopt;
    j.content += r.content;
    j.batches = std::max(j.batches, r.batches);
    j.barrier_ns += r.barrier_ns;
    j.waited_ns += r.waited_ns;
    j.clock_error_ns = std::max(j.clock_error_ns, r.clock_error_ns);
    nodes.insert(r.node);
    if (r.samples > 0) {  // a rank without a sample is never done
      begins.push_back(r.begin_ns);
      ends.push_back(r.last_ns);
    }
  }
  j.nodes = static_cast<std::uint32_t>(nodes.size());
  if (!ends.empty()) {
    const auto [first, last] = std::ranges::minmax(begins);
    j.start_skew_ns = last - first;
    const auto [first_done, last_done] = std::ranges::minmax(ends);
    j.first_done_ns = first_done;
    j.last_done_ns = last_done;
  }
  return j;
}

EmissionProof prove_emission(std::span<const std::uint64_t> delivered, std::uint64_t places) {
  EmissionProof proof;
  std::vector<std::uint32_t> sample(places);
  std::vector<bool> seen(places);
  for (const std::uint64_t one : delivered) {
    const std::uint64_t place = one >> 32;
    if (place >= places || seen[place]) {
      ++proof.duplicated;
    } else {
      seen[place] = true;
      sample[place] = static_cast<std::uint32_t>(one);
    }
  }
  std::size_t kept = 0;
  for (std::uint64_t place = 0; place < places; ++place) {
    if (seen[place]) {
      sample[kept++] = sample[place];
    }
  }
  proof.missing = places - kept;
  proof.hash = emission_hash(std::span(sample).first(kept));
  return proof;
}

bool is_complete(const RanksResult& result) {
  const bool done = std::ranges::all_of(
      result.rows, [](const RankRow& r) { return r.state == RankState::done && r.wrong == 0; });
  return done && !result.fault && result.proof && result.proof->whole();
}

Json result_json(const RanksResult& result) {
  Json out = parse_json(result.facts);
  if (!out.is_object()) {  // no rank came so far
    out = Json::object();
  }
  out["complete"] = is_complete(result);
  out["fault"] = fault_json(result);
  out["emission_hash"] = result.proof ? or_null(result.proof->hash) : Json(nullptr);
  out["missing_samples"] = result.proof ? Json(result.proof->missing) : Json(nullptr);
  out["duplicated_samples"] = result.proof ? Json(result.proof->duplicated) : Json(nullptr);
  out["bytes_compared"] = result.proof && result.proof->compared;
  out["shuffle_quality"] = quality_of(result.quality);
  out["warnings"] = result.warnings;
  out["joined"] = joined_json(join_rows(result.rows));
  Json rows = Json::array();
  for (const RankRow& r : result.rows) {
    rows.push_back(row_json(r));
  }
  out["rows"] = std::move(rows);
  return out;
}

std::string result_text(const RanksResult& result) {
  Table table;
  table.column("rank", Table::Align::left);
  table.column("node", Table::Align::left);
  for (const char* title :
       {"samples", "bytes", "first batch", "done", "throughput", "at barriers"}) {
    table.column(title);
  }
  for (const RankRow& r : result.rows) {
    table.row({std::to_string(r.rank), r.host_name(), format_count(r.samples),
               format_bytes({r.bytes}), when_text(r, r.first_ns), when_text(r, r.last_ns),
               rate_text(r.bytes, r.last_ns), ns_text(r.barrier_ns)});
  }
  const JoinedRow j = join_rows(result.rows);
  table.row({"all", "", format_count(j.samples), format_bytes({j.bytes}), "",
             ns_text(j.last_done_ns), rate_text(j.bytes, j.last_done_ns), ns_text(j.barrier_ns)});
  return table.text() + fmt::format("skew {}, clocks aligned to {}{}\n", ns_text(j.skew_ns()),
                                    ns_text(j.clock_error_ns),
                                    result.proof ? ", emission hash " + result.proof->hash : "");
}

}  // namespace blksweep
