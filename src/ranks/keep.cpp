#include "ranks/keep.h"

#include <chrono>

#include "base/clock.h"
#include "os/hostfacts.h"
#include "store/result_store.h"
#include "store/schema/ranks_columns.h"

namespace blksweep {
namespace {

template <class T>
void take(const Json& from, const char* name, T& to) {
  const auto at = from.find(name);
  if (at != from.end() && !at->is_null()) {
    to = at->get<T>();
  }
}

template <class T>
void take(const Json& from, const char* name, Maybe<T>& to) {
  const auto at = from.find(name);
  to = at != from.end() && !at->is_null() ? Maybe<T>(at->get<T>()) : std::nullopt;
}

// What was asked for: not how many ranks there were, nor what came of it.
std::string key_of(const Json& document) {
  Json key = document;
  for (const char* name : {"version", "ranks", "samples", "planned_emission_hash", "complete",
                           "fault", "emission_hash", "missing_samples", "duplicated_samples",
                           "bytes_compared", "shuffle_quality", "warnings", "joined", "rows"}) {
    key.erase(name);
  }
  return json_line(key);
}

// Its columns are the keys.
RankEntry entry_of(const Json& row) {
  RankEntry e;
  each_rank_entry_column(e, [&row](const char* name, auto& field) { take(row, name, field); });
  return e;
}

void take_joined(const Json& joined, RanksRow& r) {
  take(joined, "nodes", r.nodes);
  take(joined, "samples", r.samples);
  take(joined, "bytes", r.bytes);
  take(joined, "batches", r.batches);
  take(joined, "storage_bytes", r.storage_bytes);
  take(joined, "batch_ns", r.batch_ns);
  take(joined, "first_done_ns", r.first_done_ns);
  take(joined, "last_done_ns", r.last_done_ns);
  take(joined, "start_skew_ns", r.start_skew_ns);
  take(joined, "waited_ns", r.waited_ns);
  take(joined, "barrier_ns", r.barrier_ns);
  take(joined, "clock_error_ns", r.clock_error_ns);
  take(joined, "samples_per_s", r.samples_per_s);
  take(joined, "bytes_per_s", r.bytes_per_s);
}

std::string fault_of(const RanksResult& result) {
  if (!result.fault) {
    return "";
  }
  for (const RankRow& row : result.rows) {
    if (row.rank == result.fault->rank) {
      return name_of(*result.fault, row.host_name());
    }
  }
  return name_of(*result.fault, "");
}

}  // namespace

RanksRow ranks_row(const RanksResult& result, const RanksDatabase& where) {
  const Json document = result_json(result);
  RanksRow r;
  r.key = key_of(document);
  take(document, "data", r.data);
  take(document, "split", r.split);
  take(document, "barrier", r.barrier);
  take(document, "order", r.order);
  take(document, "merge", r.merge);
  take(document, "shuffle", r.shuffle);
  take(document, "samples", r.epoch_samples);
  take(document, "emission_hash", r.emission_hash);
  take(document, "missing_samples", r.missing_samples);
  take(document, "duplicated_samples", r.duplicated_samples);
  take(document, "window_scope", r.window_scope);
  take_joined(document["joined"], r);
  const Json& quality = document["shuffle_quality"];
  take(quality, "displacement", r.quality_displacement);
  take(quality, "rank_decorrelation", r.quality_rank_decorrelation);
  take(quality, "neighbours_broken", r.quality_neighbours_broken);
  take(quality, "label_mix", r.quality_label_mix);
  take(quality, "rank_label_mix", r.quality_rank_label_mix);
  r.ranks = static_cast<std::uint32_t>(result.rows.size());
  r.complete = is_complete(result);
  r.fault = fault_of(result);
  r.document = json_line(document);
  r.started_unix_ns = unix_ns();
  const HostFacts host = read_host_facts();
  r.hostname = host.hostname;
  r.kernel = host.kernel;
  r.tool_version = where.tool_version;
  r.git_revision = where.git_revision;
  r.argv = where.argv;
  for (const Json& row : document["rows"]) {
    r.entries.push_back(entry_of(row));
  }
  return r;
}

Result<> keep_ranks(const RanksResult& result, const RanksDatabase& where) {
  if (where.path.empty()) {
    return {};
  }
  BLKSWEEP_TRY(ResultStore store, ResultStore::open(where.path, std::chrono::seconds(30)));
  BLKSWEEP_TRY([[maybe_unused]] const std::int64_t id, store.add_ranks(ranks_row(result, where)));
  return {};
}

std::string not_kept(const Error& error, const std::string& host) {
  return name_of({0, "the result is told, but not kept: " + error.message()}, host);
}

Result<> try_database(const RanksDatabase& where) {
  if (where.path.empty()) {
    return {};
  }
  BLKSWEEP_TRY([[maybe_unused]] const ResultStore store, ResultStore::open(where.path));
  return {};
}

}  // namespace blksweep
